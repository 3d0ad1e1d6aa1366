import { LONGEST, type Note } from './note.ts'

/** What becomes of a note that is to be written. */
export type Placed =
  | { did: 'created'; note: Note }
  /** One of the same title gave way to it. */
  | { did: 'replaced'; note: Note }
  /** It went into one with nearly the same tags. */
  | { did: 'merged'; note: Note }
  /** All of it stands there already. */
  | { did: 'known'; note: Note }

/** Tags that two notes share, of those of the one that has more, from which on they are about the same. */
const SAME = 0.5

/**
 * Where a note goes among those there are: in the place of one of the same title, into the one with which it shares more than half
 * of the tags, or into a file of its own. A person's note is changed by a person only: an agent's stands beside it. `taken`:
 * names of files that are no notes. Pure.
 */
export function placeNote(note: Note, others: readonly Note[], taken: readonly string[] = []): Placed {
  const created = (): Placed => ({
    did: 'created',
    note: { ...note, file: freeName(note.title, [...namesOf(others), ...taken]) },
  })
  const theirs = note.by === 'agent' ? others.find(other => other.by === 'person' && says(other, note)) : undefined
  if (theirs) return { did: 'known', note: theirs }
  const own = others.filter(({ by }) => by === note.by)
  const mine = note.by === 'agent' ? own : [...own, ...others.filter(({ by }) => by === 'agent')]
  const same = mine.filter(({ title }) => sameTitle(title, note.title))
  const known = same.find(other => isIn(note, other))
  if (known) return { did: 'known', note: known }
  if (same[0]) return { did: 'replaced', note: replacing(same[0], note) }
  const near = mine
    .map(other => ({ other, overlap: tagOverlap(other.tags, note.tags) }))
    .filter(({ overlap }) => overlap > SAME)
    .sort((a, b) => b.overlap - a.overlap)
    .map(({ other }) => other)
  const knowing = near.find(({ body }) => body.includes(note.body))
  if (knowing) return { did: 'known', note: knowing }
  const into = near.find(({ body }) => sectionIn(body, note.title)) ?? near[0]
  if (!into) return created()
  const merged = mergedNote(into, note)
  // Too long together: it would lose what stood there first.
  return merged ? { did: 'merged', note: merged } : created()
}

/** Shared tags as a part of the longer list; none where one has no tags. */
export function tagOverlap(a: readonly string[], b: readonly string[]): number {
  const most = Math.max(new Set(a).size, new Set(b).size)
  return most === 0 ? 0 : new Set(a).intersection(new Set(b)).size / most
}

function namesOf(notes: readonly Note[]): string[] {
  return notes.map(({ file }) => file)
}

function says(other: Note, { title, body }: Note): boolean {
  return sameTitle(other.title, title) && other.body.includes(body)
}

function sameTitle(a: string, b: string): boolean {
  return fold(a) === fold(b)
}

function fold(title: string): string {
  return title.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()
}

function isIn(note: Note, { body, tags, feature }: Note): boolean {
  return body === note.body && feature === note.feature && note.tags.join() === tags.join()
}

function replacing({ file, created_at, more }: Note, note: Note): Note {
  return { ...note, file, created_at: created_at ?? note.created_at, more }
}

function mergedNote(into: Note, { title, body, tags, by, updated_at }: Note): Note | undefined {
  const section = `## ${title}\n\n${body}`
  const before = sectionIn(into.body, title)
  const both = before === undefined ? `${into.body}\n\n${section}` : into.body.replace(before, () => section)
  if (both.length > LONGEST.body * MERGED) return undefined
  return { ...into, tags: [...new Set([...into.tags, ...tags])].slice(0, LONGEST.tags), body: both, by, updated_at }
}

/** What was added under this title before: it gives way to what is said now. */
function sectionIn(body: string, title: string): string | undefined {
  const begin = `\n\n${body}`.indexOf(`\n\n## ${title}\n\n`)
  if (begin < 0) return undefined
  const rest = body.slice(begin)
  const end = rest.indexOf('\n\n## ', 1)
  return end < 0 ? rest : rest.slice(0, end)
}

/** How many full notes go into one. */
const MERGED = 2

/** `totals-are-cents.md`, and with a number where that is another note. */
function freeName(title: string, names: readonly string[]): string {
  const taken = new Set(names.map(name => name.toLowerCase()))
  const base = slugOf(title)
  for (let number = 1; ; number++) {
    const name = `${base}${number === 1 ? '' : `-${number}`}.md`
    if (!taken.has(name)) return name
  }
}

function slugOf(title: string): string {
  const plain = title
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60)
    .replace(/^-+|-+$/g, '')
  return plain === '' ? 'note' : plain
}
