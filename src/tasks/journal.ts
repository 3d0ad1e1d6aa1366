import { redactText } from '../base/redact.ts'
import { allWordsIn, wordsIn } from '../base/words.ts'
import type { JournalEntry, JournalPage } from '../domain/attempt.ts'
import type { Task } from '../domain/task.ts'
import type { Store, Tx } from '../store/store.ts'
import type { JournalQuery } from '../store/task-stores.ts'

/** What the journal has to tell whoever begins a task. */
export interface JournalForTask {
  /** Of the run that it is part of, newest first. */
  recent: JournalEntry[]
  /** Of other runs of the project, those most like it first. */
  alike: JournalEntry[]
}

/** Rows that are read; what has room of them is fewer. */
const MAX_ENTRIES = { recent: 40, alike: 20 }
/** Words of a task that are looked for: the first say what it is about. */
const MAX_WORDS = 40
/** How well an entry must fit, by the one that fits best. */
const LEAST_RANK_SHARE = 0.3

/** Entries of this run, and those of earlier ones that have to do with a task. What failed of the task itself is told elsewhere. */
export async function readJournalForTask(
  task: Task,
  { store, run, tx }: { store: Pick<Store, 'journal'>; run: string | undefined; tx?: Tx | undefined },
): Promise<JournalForTask> {
  const { journal } = store
  const { project } = task
  const words = wordsIn([task.title, task.feature, task.labels, task.description].join(' ')).slice(0, MAX_WORDS)
  const [recent, found] = [
    run === undefined ? [] : await journal.entries({ project, run, limit: MAX_ENTRIES.recent }, tx),
    await journal.entries({ project, notRun: run, words: { list: words, need: 'any' }, limit: MAX_ENTRIES.alike }, tx),
  ]
  const best = Math.min(0, ...found.map(({ rank }) => rank))
  const isNews = (entry: JournalEntry) => entry.task_id !== task.id || entry.outcome !== 'failed'
  return {
    recent: recent.filter(isNews),
    alike: found.filter(entry => isNews(entry) && entry.rank <= best * LEAST_RANK_SHARE),
  }
}

export interface JournalSearch extends Pick<JournalQuery, 'project' | 'run' | 'task' | 'since' | 'limit'> {
  /** As a person types them: all must be there, each as the beginning of a word. */
  words?: string | undefined
}

/** Entries of the journal, newest first, or those with some words, the best match first. */
export async function searchJournal(
  { journal }: Pick<Store, 'journal'>,
  { words, ...rest }: JournalSearch,
): Promise<JournalPage> {
  const query = { ...rest, ...(words !== undefined && { words: { list: allWordsIn(words), need: 'all' as const } }) }
  const [entries, total] = [await journal.entries(query), await journal.count(query)]
  return { entries: entries.map(({ rank: _, ...entry }) => entry), total }
}

/** A paragraph or three: it is read by people and put into prompts. */
const MAX_NOTES = 2_000

/** What an attempt leaves in words: what its agent wrote down for the journal, or else its last words. */
export function journalNotes({ journal, lastWords }: { journal: readonly string[]; lastWords: string }): string | null {
  const own = journal.map(each => each.trim()).filter(each => each !== '')
  const text = redactText(own.length > 0 ? [...new Set(own)].join('\n\n') : lastWords.trim())
  if (text === '') return null
  return text.length > MAX_NOTES ? `${text.slice(0, MAX_NOTES - 1).toWellFormed()}…` : text
}

/** Files that one entry names; more would only fill it. */
const MAX_FILES = 40

/** Ours: what is written down there is told elsewhere. */
const OWN_FILES = /^\.perpetualcc\//

/** The files that an attempt changed, as its row keeps them: those its tools wrote first, then those that only git knows of. */
export function changedFilesColumns(
  written: Iterable<string>,
  seen: readonly string[] = [],
): { files: string; files_more: number } {
  const all = [...new Set([...written, ...seen])].filter(path => path !== '' && !OWN_FILES.test(path))
  return { files: JSON.stringify(all.slice(0, MAX_FILES)), files_more: Math.max(0, all.length - MAX_FILES) }
}
