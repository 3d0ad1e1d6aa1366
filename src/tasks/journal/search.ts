import { allWordsIn } from '../../base/text/words.ts'
import type { JournalPage } from '../../domain/runs/journal.ts'
import type { JournalQuery } from '../../store/journal/shapes.ts'
import type { Store } from '../../store/store.ts'

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
