/** Repeats the last result for the same argument (`===`), which must not change. Consecutive leaves mostly belong to the same batch. */
export function rememberLast<Given, Made>(make: (given: Given) => Made): (given: Given) => Made {
  let last: { readonly given: Given; readonly made: Made } | undefined;
  return (given) => {
    if (!last || last.given !== given) last = { given, made: make(given) };
    return last.made;
  };
}
