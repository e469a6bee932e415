/** A function that gives its last result again for the same argument (`===`): of many leaves in a row, all are of one batch. */
export function rememberLast<Given, Made>(make: (given: Given) => Made): (given: Given) => Made {
  let last: { readonly given: Given; readonly made: Made } | undefined;
  return (given) => {
    if (last?.given !== given) last = { given, made: make(given) };
    return last.made;
  };
}
