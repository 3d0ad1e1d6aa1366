/** What a mistyped word was probably meant to be: of several forms, the meaning of the nearest one, if it is near at all. */
export function nearest(name: string, forms: { form: string; means: string }[]): string | undefined {
  const typed = name.toLowerCase().replaceAll('-', '_')
  const best = forms
    .map(({ form, means }) => ({ means, distance: editDistance(typed, form) / Math.max(typed.length, form.length) }))
    .sort((a, b) => a.distance - b.distance)[0]
  // A third of the letters wrong is still a typing mistake; more is another word.
  return best && best.distance <= 0.34 ? best.means : undefined
}

/** Letters left out, put in, changed, or two that changed places. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    const swapped = (j: number) =>
      i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
        ? (before[j - 2] ?? 0) + 1
        : Number.POSITIVE_INFINITY
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, swapped(j)))
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}
