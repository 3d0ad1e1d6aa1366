import type { StoredEvent } from '../../domain/event.ts'
import type { JournalColumns } from '../../store/journal/columns.ts'
import type { AttemptRow } from '../../store/runs/rows.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { changedFiles } from '../../tasks/journal/changed-files.ts'
import { notesOf } from '../../tasks/journal/notes-of.ts'
import { readSigils } from '../sigils/read-sigils.ts'
import type { Sigil } from '../sigils/sigil.ts'
import { withoutSigils } from '../sigils/without-sigils.ts'
import { changedBy } from './changed-by.ts'

/** What an attempt that is over leaves behind: for its row, and for the notes of the project. */
export interface AttemptStory {
  columns: Pick<JournalColumns, 'notes' | 'files' | 'files_more'>
  knowledge: Extract<Sigil, { kind: 'knowledge' }>[]
}

/** Rows read at once: a session may have tens of thousands, and the daemon has others to look after. */
const PAGE = 500

/** Tools that write the file they are given. */
const WRITERS = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit'])
/** Those that write no file of the project. After any other one git is asked, which takes some 20 ms. */
const READERS = new Set(['Read', 'Grep', 'Glob', 'LS', 'TodoWrite', 'WebFetch', 'WebSearch', 'AskUserQuestion'])

/** Reads what an attempt said and changed from the events of its session, and from git. */
export async function attemptStory(
  { attempt, session }: { attempt: AttemptRow; session: SessionRow },
  store: Pick<Store, 'events' | 'merges'>,
): Promise<AttemptStory> {
  const written = new Set<string>()
  const sigils = new Map<string, Sigil>()
  let lastWords = ''
  let isSure = true
  for await (const event of eventsOf(session.id, store)) {
    if (event.kind === 'tool.finished') {
      const { tool, target, ok } = event.body
      if (WRITERS.has(tool) && ok) written.add(target)
      else if (!WRITERS.has(tool) && !READERS.has(tool)) isSure = false
    }
    const said = wordsOf(event)
    if (said === undefined) continue
    const left = event.kind === 'turn.ended' ? (event.body.sigils?.left ?? []) : []
    for (const sigil of [...readSigils(said, { task: attempt.task_id }).sigils, ...left])
      sigils.set(JSON.stringify(sigil), sigil)
    const plain = withoutSigils(said)
    if (plain !== '') lastWords = plain
  }
  const seen = isSure ? [] : await changedBy({ attempt, session }, store)
  const all = [...sigils.values()]
  const journal = all.flatMap(sigil => (sigil.kind === 'journal' ? [sigil.notes] : []))
  return {
    columns: { notes: notesOf({ journal, lastWords }), ...changedFiles(written, seen) },
    knowledge: all.filter(sigil => sigil.kind === 'knowledge'),
  }
}

/** Words of the agent itself: what a subagent says, it says to the agent. */
function wordsOf(event: StoredEvent): string | undefined {
  if (event.kind === 'turn.ended') return event.body.text
  return event.kind === 'agent.said' && event.body.agent_id === undefined ? event.body.text : undefined
}

async function* eventsOf(session: string, store: Pick<Store, 'events'>): AsyncGenerator<StoredEvent> {
  for (let after = 0; ; ) {
    const page = await store.events({
      ...{ subject: session, after, limit: PAGE },
      kinds: ['agent.said', 'tool.finished', 'turn.ended'],
    })
    yield* page
    const last = page.at(-1)
    if (!last || page.length < PAGE) return
    after = last.id
  }
}
