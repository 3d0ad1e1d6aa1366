import { wordsIn } from '../../base/text/words.ts'
import type { JournalEntry } from '../../domain/runs/journal.ts'
import type { Task } from '../../domain/task.ts'
import type { Store, Tx } from '../../store/store.ts'

/** What the journal has to tell whoever begins a task. */
export interface JournalForTask {
  /** Of the run that it is part of, newest first. */
  recent: JournalEntry[]
  /** Of other runs of the project, those most like it first. */
  alike: JournalEntry[]
}

/** Rows that are read; what has room of them is fewer. */
const MOST = { recent: 40, alike: 20 }
/** Words of a task that are looked for: the first say what it is about. */
const MOST_WORDS = 40
/** How well an entry must fit, by the one that fits best. */
const AS_GOOD = 0.3

/** Entries of this run, and those of earlier ones that have to do with a task. What failed of the task itself is told elsewhere. */
export async function journalForTask(
  task: Task,
  { store, run, tx }: { store: Pick<Store, 'journal'>; run: string | undefined; tx?: Tx | undefined },
): Promise<JournalForTask> {
  const { journal } = store
  const { project } = task
  const words = wordsIn([task.title, task.feature, task.labels, task.description].join(' ')).slice(0, MOST_WORDS)
  const [recent, found] = [
    run === undefined ? [] : await journal.entries({ project, run, limit: MOST.recent }, tx),
    await journal.entries({ project, notRun: run, words: { list: words, need: 'any' }, limit: MOST.alike }, tx),
  ]
  const best = Math.min(0, ...found.map(({ rank }) => rank))
  const isNews = (entry: JournalEntry) => entry.task_id !== task.id || entry.outcome !== 'failed'
  return {
    recent: recent.filter(isNews),
    alike: found.filter(entry => isNews(entry) && entry.rank <= best * AS_GOOD),
  }
}
