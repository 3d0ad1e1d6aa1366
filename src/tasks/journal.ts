import { redactText } from '../base/redact.ts'
import { allWordsIn, stemOf, wordsIn } from '../base/words.ts'
import type { JournalEntry, JournalPage } from '../domain/attempt.ts'
import type { Task } from '../domain/task.ts'
import type { Store, Tx } from '../store/store.ts'
import type { JournalQuery } from '../store/task-stores.ts'

/** The journal entries that are relevant at the beginning of a task. */
export interface JournalForTask {
  /** The latest entries of the task's run that say something, newest first. */
  recent: JournalEntry[]
  /** Other entries of the project, the most relevant first. */
  alike: JournalEntry[]
  /** The files that the latest attempts of the run changed. */
  changed: string[]
}

/** The latest attempts whose files show where the work is. */
const AT_WORK = 5
/** How many entries are read, and the most that are used: the hundredth task gets no more of them than the tenth. */
const READ = { recent: 20, alike: 40 }
const MAX_ENTRIES = { recent: 4, alike: 6 }
/** How many words of a task are searched for: the first ones say what it is about. */
const MAX_WORDS = 40
/** How well an entry must match, as a share of the best match. */
const LEAST_RANK_SHARE = 0.3

/**
 * The latest entries of this run, and those of the project that are most like the task. Entries that say nothing are left out, and so are
 * failures of the task itself, which the prompt has already.
 */
export async function readJournalForTask(
  task: Task,
  { store, run, tx }: { store: Pick<Store, 'journal'>; run: string | undefined; tx?: Tx | undefined },
): Promise<JournalForTask> {
  const { journal } = store
  const { project } = task
  const words = wordsIn([task.title, task.feature, task.labels, task.description].join(' ')).slice(0, MAX_WORDS)
  const [latest, similar] = [
    run === undefined ? [] : await journal.entries({ project, run, limit: READ.recent }, tx),
    await journal.entries({ project, words: { list: words, need: 'any' }, limit: READ.alike }, tx),
  ]
  const isNews = (entry: JournalEntry) => entry.task_id !== task.id || entry.outcome !== 'failed'
  const recent = latest.filter(entry => isNews(entry) && saysSomething(entry)).slice(0, MAX_ENTRIES.recent)
  const shown = new Set(recent.map(keyOf))
  const worth = similar
    .map(entry => ({ entry, value: entry.rank * weightOf(entry) }))
    .toSorted((a, b) => a.value - b.value)
  const best = worth[0]?.value ?? 0
  const alike = worth.filter(
    ({ entry, value }) =>
      isNews(entry) &&
      !shown.has(keyOf(entry)) &&
      (saysSomething(entry) || entry.files.length > 0) &&
      value <= best * LEAST_RANK_SHARE,
  )
  return {
    recent,
    alike: alike.map(({ entry }) => entry).slice(0, MAX_ENTRIES.alike),
    changed: latest
      .filter(isNews)
      .slice(0, AT_WORK)
      .flatMap(({ files }) => files),
  }
}

function keyOf({ task_id, number }: JournalEntry): string {
  return `${task_id} ${number}`
}

/** What failed is worth more to the next agent than what went well, and words more than a list of files. */
function weightOf(entry: JournalEntry): number {
  return (entry.outcome === 'failed' ? 1.5 : 1) * (saysSomething(entry) ? 1 : 0.6)
}

/** Whether an entry says more than that its task was done. */
function saysSomething(entry: JournalEntry): boolean {
  return (entry.outcome === 'failed' && entry.reason !== null) || tellsMore(entry)
}

/** Whether the words of an attempt say anything that its title does not: "All done." does not. */
export function tellsMore({ title, notes }: Pick<JournalEntry, 'title' | 'notes'>): boolean {
  const known = new Set(allWordsIn(title).map(stemOf))
  return wordsIn(notes ?? '').some(word => !known.has(stemOf(word)) && !CLAIMS.has(stemOf(word)))
}

/** Words with which agents say that it is done. */
const CLAIMS = new Set(
  `added changed changes check checked clean complete completed completely correctly created everything finished fixed fully
   green implemented okay pass passed passes passing ready requested success successful successfully test tested tests updated
   verified working written`
    .split(/\s+/)
    .map(stemOf),
)

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
