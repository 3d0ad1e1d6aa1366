/** A name a person can type, made of the first words of the task. */
export function nameFromTask(task: string): string {
  const words = withoutFileName(task)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(word => word !== '' && !FILLERS.has(word))
  let name = ''
  for (const word of words.slice(0, MAX_WORDS)) {
    const longer = name === '' ? word.slice(0, MAX_LENGTH) : `${name}-${word}`
    if (longer.length > MAX_LENGTH) break
    name = longer
  }
  return name === '' ? 'session' : name
}

/** A task that is only a requirements file begins with where it lies, which says nothing of the work; one above a file ends before it. */
function withoutFileName(task: string): string {
  const [own = ''] = task.split(/\n\n(?:This is the first of \d+ tasks: |Requirements \(.*\):\n)/, 1)
  return own.replace(/^Requirements \(.*\):\s*/, '')
}

/** The name itself, or with the first number that makes it new. */
export function uniqueName(wanted: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wanted)) return wanted
  let number = 2
  while (taken.has(`${wanted}-${number}`)) number += 1
  return `${wanted}-${number}`
}

const MAX_WORDS = 5
const MAX_LENGTH = 32
const FILLERS = new Set(['a', 'an', 'the', 'to', 'of', 'for', 'and', 'in', 'on', 'with', 'please', 'project'])
