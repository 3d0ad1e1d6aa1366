import { redactText } from '../base/redact.ts'
import { allWordsIn, wordsIn } from '../base/words.ts'
import type { JournalEntry, JournalPage } from '../domain/attempt.ts'
import type { Task } from '../domain/task.ts'
import type { Store, Tx } from '../store/store.ts'
import type { JournalQuery } from '../store/task-stores.ts'

/** The journal entries that are relevant at the beginning of a task. */
export interface JournalForTask {
  /** Entries of the task's run, newest first. */
  recent: JournalEntry[]
  /** Entries of other runs of the project, the most similar first. */
  alike: JournalEntry[]
}

/** How many entries are read; fewer fit into a prompt. */
const MAX_ENTRIES = { recent: 40, alike: 20 }
/** How many words of a task are searched for: the first ones say what it is about. */
const MAX_WORDS = 40
/** How well an entry must match, as a share of the best match. */
const LEAST_RANK_SHARE = 0.3

/** Entries of this run, and similar ones of earlier runs. Failures of the task itself are left out: the prompt has them already. */
export async function readJournalForTask(
  task: Task,
  { store, run, tx }: { store: Pick<Store, 'journal'>; run: string | undefined; tx?: Tx | undefined },
): Promise<JournalForTask> {
  const { journal } = store
  const { project } = task
  const words = wordsIn([task.title, task.feature, task.labels, task.description].join(' ')).slice(0, MAX_WORDS)
  const [recent, similar] = [
    run === undefined ? [] : await journal.entries({ project, run, limit: MAX_ENTRIES.recent }, tx),
    await journal.entries({ project, notRun: run, words: { list: words, need: 'any' }, limit: MAX_ENTRIES.alike }, tx),
  ]
  const best = Math.min(0, ...similar.map(({ rank }) => rank))
  const isNews = (entry: JournalEntry) => entry.task_id !== task.id || entry.outcome !== 'failed'
  return {
    recent: recent.filter(isNews),
    alike: similar.filter(entry => isNews(entry) && entry.rank <= best * LEAST_RANK_SHARE),
  }
}

export interface JournalSearch extends Pick<JournalQuery, 'project' | 'run' | 'task' | 'since' | 'limit'> {
  /** The words as a person types them: an entry must have all of them, each as the beginning of a word. */
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

/** A few paragraphs: people read them, and they are put into prompts. */
const MAX_NOTES = 2_000

/** The notes of an attempt: what its agent wrote for the journal, or else its last message. */
export function journalNotes({ journal, lastText }: { journal: readonly string[]; lastText: string }): string | null {
  const own = journal.map(note => note.trim()).filter(note => note !== '')
  const text = redactText(own.length > 0 ? [...new Set(own)].join('\n\n') : lastText.trim())
  if (text === '') return null
  return text.length > MAX_NOTES ? `${text.slice(0, MAX_NOTES - 1).toWellFormed()}…` : text
}

/** How many files one entry names; more would only fill it. */
const MAX_FILES = 40

/** Files of pcc itself, which are reported elsewhere. */
const OWN_FILES = /^\.perpetualcc\//

/** The files that an attempt changed, as its row keeps them: first those that its tools wrote, then those that only git knows. */
export function changedFilesColumns(
  written: Iterable<string>,
  seen: readonly string[] = [],
): { files: string; files_more: number } {
  const all = [...new Set([...written, ...seen])].filter(path => path !== '' && !OWN_FILES.test(path))
  return { files: JSON.stringify(all.slice(0, MAX_FILES)), files_more: Math.max(0, all.length - MAX_FILES) }
}
