/** Caches the last result of `make`, for calls with the same argument (`===`). Consecutive leaves mostly belong to the same batch. */
export function rememberLast<Given, Made>(make: (given: Given) => Made): (given: Given) => Made {
  let last: { readonly given: Given; readonly made: Made } | undefined;
  return (given) => {
    if (!last || last.given !== given) last = { given, made: make(given) };
    return last.made;
  };
}
