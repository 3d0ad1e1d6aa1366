import { existsSync } from 'node:fs'
import type { Log } from '../../base/log.ts'
import type { StoredEvent } from '../../domain/event.ts'
import type { Task } from '../../domain/task.ts'
import { recordNote } from '../../knowledge/record-note.ts'
import type { Store } from '../../store/store.ts'
import type { AttemptRow, JournalColumns, SessionRow } from '../../store/tables.ts'
import { changedFilesColumns, journalNotes } from '../../tasks/journal.ts'
import { listChangedBetween, listChangedSince } from '../../workspace/changes.ts'
import { readSigils, type Sigil, stripSigils } from '../session/read-sigils.ts'

/** What an attempt that is over leaves behind: for its row, and for the notes of the project. */
interface AttemptStory {
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
    const plain = stripSigils(said)
    if (plain !== '') lastWords = plain
  }
  const seen = isSure ? [] : await changedBy({ attempt, session }, store)
  const all = [...sigils.values()]
  const journal = all.flatMap(sigil => (sigil.kind === 'journal' ? [sigil.notes] : []))
  return {
    columns: { notes: journalNotes({ journal, lastWords }), ...changedFilesColumns(written, seen) },
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

/** What an attempt changed, as git has it: in its worktree, or by the merge after which that was removed, or in the project since it began. */
async function changedBy(
  { attempt, session }: { attempt: AttemptRow; session: SessionRow },
  { merges }: Pick<Store, 'merges'>,
): Promise<string[] | undefined> {
  const { place } = session.options
  if (!place) return listChangedSince(session.project, attempt.started_at)
  const landed = (await merges.list({ task: place.task })).findLast(row => row.attempt === place.attempt && row.result)
  if (landed?.base && landed.result)
    return listChangedBetween(session.project, { base: landed.base, head: landed.result })
  return existsSync(place.directory) ? listChangedBetween(place.directory, { base: place.base }) : undefined
}

/** What one attempt may add: a project is not to be filled with what one agent thinks of. */
const MOST = 5

export interface KeepNotesOptions {
  project: string
  task: Pick<Task, 'id' | 'feature'>
  lockFile: string
  now: number
  log: Log
}

/** Writes down the notes of an attempt among those of its project. Once more changes nothing; what is refused is logged. */
export function keepNotes(
  knowledge: AttemptStory['knowledge'],
  { project, task, log, ...where }: KeepNotesOptions,
): void {
  for (const { title, tags, body } of knowledge.slice(0, MOST)) {
    const note = { title, tags, body, task: task.id, ...(task.feature !== null && { feature: task.feature }) }
    const recorded = recordNote(note, { project, by: 'agent', ...where })
    if (recorded.did === 'refused') log.warn({ task: task.id, title, why: recorded.why }, 'a note was not written down')
    else log.info({ task: task.id, file: recorded.file, did: recorded.did }, 'a note was written down')
  }
  const more = knowledge.length - MOST
  if (more > 0) log.warn({ task: task.id, more }, 'one attempt may write down only so many notes')
}
