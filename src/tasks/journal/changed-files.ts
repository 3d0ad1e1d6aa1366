/** Files that one entry names; more would only fill it. */
const MOST = 40

/** Ours: what is written down there is told elsewhere. */
const OWN = /^\.perpetualcc\//

/** The files that an attempt changed, as its row keeps them: those its tools wrote first, then those that only git knows of. */
export function changedFiles(
  written: Iterable<string>,
  seen: readonly string[] = [],
): { files: string; files_more: number } {
  const all = [...new Set([...written, ...seen])].filter(path => path !== '' && !OWN.test(path))
  return { files: JSON.stringify(all.slice(0, MOST)), files_more: Math.max(0, all.length - MOST) }
}
