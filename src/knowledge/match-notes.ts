import { allWordsIn, stemOf, wordsIn } from '../base/words.ts'
import type { Note } from './note.ts'

/** What notes are needed for. */
export interface NoteQuery {
  title: string
  description?: string | undefined
  labels?: readonly string[] | undefined
  feature?: string | null | undefined
  /** Paths of files that were changed recently around it. */
  files?: readonly string[] | undefined
}

/** The weight of a tag by where it is found. */
const WEIGHTS = { label: 5, feature: 4, title: 3, description: 2, file: 1 } as const
/** A lower score is a coincidence. */
const LEAST = 2

/** The notes that match the query, the best first; of equals the newest first. Pure. */
export function matchNotes(notes: readonly Note[], query: NoteQuery): Note[] {
  const words = readQueryWords(query)
  return notes
    .map(note => ({ note, score: scoreNote(note, words, query) }))
    .filter(({ score }) => score >= LEAST)
    .sort((a, b) => b.score - a.score || compareAge(b.note, a.note) || (a.note.file < b.note.file ? -1 : 1))
    .map(({ note }) => note)
}

/** The notes that contain every word of the query as the beginning of a word, in the title, a tag or the text; the best first. Pure. */
export function searchNotes(notes: readonly Note[], query: string): Note[] {
  const wanted = allWordsIn(query)
  if (wanted.length === 0) return []
  return notes
    .map(note => ({ note, score: scoreSearch(note, wanted) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || compareAge(b.note, a.note) || (a.note.file < b.note.file ? -1 : 1))
    .map(({ note }) => note)
}

type QueryWords = Record<keyof typeof WEIGHTS, Set<string>>

function readQueryWords({ title, description = '', labels = [], feature, files = [] }: NoteQuery): QueryWords {
  const stems = (text: string) => new Set(allWordsIn(text).map(stemOf))
  return {
    label: new Set(labels.flatMap(label => [...stems(label)])),
    feature: stems(feature ?? ''),
    title: stems(title),
    description: stems(description),
    file: new Set(files.flatMap(path => [...stems(path)])),
  }
}

function scoreNote({ title, tags, feature }: Note, words: QueryWords, query: NoteQuery): number {
  const tagScore = tags.reduce((sum, tag) => sum + weighTag(tag, words), 0)
  const featureScore = feature !== undefined && feature === query.feature ? WEIGHTS.feature : 0
  const shared = wordsIn(title).filter(word => words.title.has(stemOf(word)) || words.description.has(stemOf(word)))
  return tagScore + featureScore + Math.min(shared.length, 3)
}

/** A tag of several words (`error-handling`) needs all of them in one field. */
function weighTag(tag: string, words: QueryWords): number {
  const stems = tag
    .split('-')
    .filter(word => word !== '')
    .map(stemOf)
  const fields = Object.keys(WEIGHTS) as (keyof typeof WEIGHTS)[]
  const best = fields.find(field => stems.length > 0 && stems.every(stem => words[field].has(stem)))
  return best ? WEIGHTS[best] : 0
}

function scoreSearch({ title, tags, body }: Note, wanted: readonly string[]): number {
  const parts = [title, tags.join(' '), body].map(allWordsIn)
  let score = 0
  for (const word of wanted) {
    const at = parts.findIndex(words => words.some(candidate => candidate.startsWith(word)))
    if (at < 0) return 0
    score += parts.length - at
  }
  return score
}

function compareAge(a: Note, b: Note): number {
  const [first, second] = [a, b].map(({ updated_at, created_at }) => updated_at ?? created_at ?? '')
  return first === second ? 0 : (first ?? '') < (second ?? '') ? -1 : 1
}
