/**
 * Whether some file may be meant by both of two paths or patterns. A path means that file and all that is below it; `*` is any
 * part of a name, `?` one sign of it, `**` any number of folders. What is written in another way of matching (`[ab]`, `{a,b}`) may
 * be any name. Pure.
 */
export function mayMeet(a: string, b: string): boolean {
  if (isPlain(a) && isPlain(b)) return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`)
  return foldersMeet(partsOf(a), partsOf(b))
}

function isPlain(path: string): boolean {
  return !/[*?[{]/.test(path)
}

/** A name that ends like that of a file has nothing below it, or every pattern for files would meet every file. */
function partsOf(path: string): string[] {
  return isPlain(path) && /[^/]\.[a-z]\w*$/i.test(path) ? path.split('/') : [...path.split('/'), ANY_FOLDERS]
}

const ANY_FOLDERS = '**'

function foldersMeet(a: readonly string[], b: readonly string[]): boolean {
  return sequencesMeet(a, b, { isAny: part => part === ANY_FOLDERS, meet: namesMeet })
}

function namesMeet(a: string, b: string): boolean {
  if (a === b) return true
  if (/[[{]/.test(a) || /[[{]/.test(b)) return true
  if (!/[*?]/.test(a) && !/[*?]/.test(b)) return false
  return sequencesMeet([...a], [...b], {
    isAny: sign => sign === '*',
    meet: (one, other) => one === other || one === '?' || other === '?',
  })
}

interface Signs {
  /** Stands for any number of others, none included. */
  isAny(part: string): boolean
  meet(a: string, b: string): boolean
}

/** Whether two sequences can be read as the same, from their ends to their beginnings: each row needs only the one below it. */
function sequencesMeet(a: readonly string[], b: readonly string[], { isAny, meet }: Signs): boolean {
  let below: boolean[] = []
  for (let i = a.length; i >= 0; i -= 1) {
    const row: boolean[] = []
    for (let j = b.length; j >= 0; j -= 1) {
      const [one, other] = [a[i], b[j]]
      if (one === undefined && other === undefined) row[j] = true
      else if (one !== undefined && isAny(one))
        row[j] = below[j] === true || (other !== undefined && row[j + 1] === true)
      else if (other !== undefined && isAny(other))
        row[j] = row[j + 1] === true || (one !== undefined && below[j] === true)
      else row[j] = one !== undefined && other !== undefined && meet(one, other) && below[j + 1] === true
    }
    below = row
  }
  return below[0] === true
}
