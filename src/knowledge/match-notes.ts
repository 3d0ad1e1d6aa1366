import { allWordsIn, stemOf, wordsIn } from '../base/words.ts'
import type { Note } from './note.ts'

/** What a note is wanted for. */
export interface NoteQuery {
  title: string
  description?: string | undefined
  labels?: readonly string[] | undefined
  feature?: string | null | undefined
  /** Paths of files that were changed lately around it. */
  files?: readonly string[] | undefined
}

/** How much a tag says that is found there. */
const WEIGHTS = { label: 5, feature: 4, title: 3, description: 2, file: 1 } as const
/** Below this it is chance. */
const LEAST = 2

/** The notes that have to do with something, the nearest first; what is as near, the newest first. Pure. */
export function matchNotes(notes: readonly Note[], about: NoteQuery): Note[] {
  const paths = placesOf(about)
  return notes
    .map(note => ({ note, score: scoreOf(note, paths, about) }))
    .filter(({ score }) => score >= LEAST)
    .sort((a, b) => b.score - a.score || newest(b.note, a.note) || (a.note.file < b.note.file ? -1 : 1))
    .map(({ note }) => note)
}

/** The notes in which every word stands, in the title, a tag or the text, as the beginning of a word; the nearest first. Pure. */
export function searchNotes(notes: readonly Note[], query: string): Note[] {
  const wanted = allWordsIn(query)
  if (wanted.length === 0) return []
  return notes
    .map(note => ({ note, score: foundIn(note, wanted) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || newest(b.note, a.note) || (a.note.file < b.note.file ? -1 : 1))
    .map(({ note }) => note)
}

type Places = Record<keyof typeof WEIGHTS, Set<string>>

function placesOf({ title, description = '', labels = [], feature, files = [] }: NoteQuery): Places {
  const stems = (text: string) => new Set(allWordsIn(text).map(stemOf))
  return {
    label: new Set(labels.flatMap(label => [...stems(label)])),
    feature: stems(feature ?? ''),
    title: stems(title),
    description: stems(description),
    file: new Set(files.flatMap(path => [...stems(path)])),
  }
}

function scoreOf({ title, tags, feature }: Note, paths: Places, about: NoteQuery): number {
  const ofTags = tags.reduce((sum, tag) => sum + weightOf(tag, paths), 0)
  const ofFeature = feature !== undefined && feature === about.feature ? WEIGHTS.feature : 0
  const shared = wordsIn(title).filter(word => paths.title.has(stemOf(word)) || paths.description.has(stemOf(word)))
  return ofTags + ofFeature + Math.min(shared.length, 3)
}

/** A tag of several words (`error-handling`) needs all of them in one place. */
function weightOf(tag: string, paths: Places): number {
  const words = tag
    .split('-')
    .filter(word => word !== '')
    .map(stemOf)
  const names = Object.keys(WEIGHTS) as (keyof typeof WEIGHTS)[]
  const found = names.find(name => words.length > 0 && words.every(word => paths[name].has(word)))
  return found ? WEIGHTS[found] : 0
}

function foundIn({ title, tags, body }: Note, wanted: readonly string[]): number {
  const parts = [title, tags.join(' '), body].map(allWordsIn)
  let score = 0
  for (const word of wanted) {
    const at = parts.findIndex(words => words.some(each => each.startsWith(word)))
    if (at < 0) return 0
    score += parts.length - at
  }
  return score
}

function newest(a: Note, b: Note): number {
  const [one, other] = [a, b].map(({ updated_at, created_at }) => updated_at ?? created_at ?? '')
  return one === other ? 0 : (one ?? '') < (other ?? '') ? -1 : 1
}
