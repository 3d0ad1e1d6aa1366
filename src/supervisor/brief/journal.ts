import { existsSync } from 'node:fs'
import type { Log } from '../../base/log.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { WRITING_TOOLS } from '../../domain/file-tools.ts'
import type { Task } from '../../domain/task.ts'
import { recordNote } from '../../knowledge/record-note.ts'
import type { Store } from '../../store/store.ts'
import type { AttemptRow, JournalColumns, SessionRow } from '../../store/tables.ts'
import { changedFilesColumns, journalNotes } from '../../tasks/journal.ts'
import { listChangedBetween, listChangedInWorktree, listChangedSince } from '../../workspace/changes.ts'
import { readSigils, type Sigil, stripSigils } from '../session/read-sigils.ts'

/** What a finished attempt leaves behind: columns of its row, and notes on the project. */
interface AttemptStory {
  columns: Pick<JournalColumns, 'notes' | 'files' | 'files_more'>
  knowledge: Extract<Sigil, { kind: 'knowledge' }>[]
}

/** Events read at once: a session may have tens of thousands, and the daemon serves other sessions meanwhile. */
const PAGE_SIZE = 500

/** Tools that write no file of the project. After any other tool git is asked, which takes some 20 ms. */
const READING_TOOLS = new Set(['Read', 'Grep', 'Glob', 'LS', 'TodoWrite', 'WebFetch', 'WebSearch', 'AskUserQuestion'])

/** Reads what an attempt said and changed from the events of its session, and from git. */
export async function attemptStory(
  { attempt, session }: { attempt: AttemptRow; session: SessionRow },
  store: Pick<Store, 'events' | 'merges' | 'worktrees'>,
): Promise<AttemptStory> {
  const written = new Set<string>()
  const sigils = new Map<string, Sigil>()
  let lastText = ''
  let isComplete = true
  for await (const event of readEvents(session.id, store)) {
    if (event.kind === 'tool.finished') {
      const { tool, target, ok } = event.body
      if (WRITING_TOOLS.has(tool) && ok) written.add(target)
      else if (!WRITING_TOOLS.has(tool) && !READING_TOOLS.has(tool)) isComplete = false
    }
    const text = agentText(event)
    if (text === undefined) continue
    const left = event.kind === 'turn.ended' ? (event.body.sigils?.left ?? []) : []
    for (const sigil of [...readSigils(text, { task: attempt.task_id }).sigils, ...left])
      sigils.set(JSON.stringify(sigil), sigil)
    const plain = stripSigils(text)
    if (plain !== '') lastText = plain
  }
  const changed = isComplete ? [] : await listChanged({ attempt, session }, store)
  const all = [...sigils.values()]
  const journal = all.flatMap(sigil => (sigil.kind === 'journal' ? [sigil.notes] : []))
  return {
    columns: { notes: journalNotes({ journal, lastText }), ...changedFilesColumns(written, changed) },
    knowledge: all.filter(sigil => sigil.kind === 'knowledge'),
  }
}

/** Text of the agent itself; a subagent speaks to the agent only. */
function agentText(event: StoredEvent): string | undefined {
  if (event.kind === 'turn.ended') return event.body.text
  return event.kind === 'agent.said' && event.body.agent_id === undefined ? event.body.text : undefined
}

async function* readEvents(session: string, store: Pick<Store, 'events'>): AsyncGenerator<StoredEvent> {
  for (let after = 0; ; ) {
    const page = await store.events({
      ...{ subject: session, after, limit: PAGE_SIZE },
      kinds: ['agent.said', 'tool.finished', 'turn.ended'],
    })
    yield* page
    const last = page.at(-1)
    if (!last || page.length < PAGE_SIZE) return
    after = last.id
  }
}

/**
 * The files that an attempt changed, as git has them: by its merge, after which the worktree was removed; in its worktree; or in the
 * project since the attempt began.
 */
async function listChanged(
  { attempt, session }: { attempt: AttemptRow; session: SessionRow },
  { merges, worktrees }: Pick<Store, 'merges' | 'worktrees'>,
): Promise<string[] | undefined> {
  const { place: worktree } = session.options
  if (!worktree) return listChangedSince(session.project, attempt.started_at)
  const rows = await merges.list({ task: worktree.task })
  const merge = rows.findLast(row => row.attempt === worktree.attempt && row.result)
  // The result of a merge holds what other tasks merged meanwhile; the verified commit holds the work of this attempt alone.
  if (merge?.base && merge.head) return listChangedBetween(session.project, { base: merge.base, head: merge.head })
  // A slot may be another task's by now.
  const isThere = (await worktrees.get(worktree))?.state === 'live' && existsSync(worktree.directory)
  return isThere ? listChangedInWorktree(worktree) : undefined
}

/** Most notes of one attempt, so that one agent cannot fill a project with notes. */
const MAX_NOTES = 5

export interface KeepNotesOptions {
  project: string
  task: Pick<Task, 'id' | 'feature'>
  lockFile: string
  now: number
  log: Log
}

/** Adds the notes of an attempt to those of its project. Repeating it changes nothing; a refused note is logged. */
export function keepNotes(
  knowledge: AttemptStory['knowledge'],
  { project, task, log, ...where }: KeepNotesOptions,
): void {
  for (const { title, tags, body } of knowledge.slice(0, MAX_NOTES)) {
    const note = { title, tags, body, task: task.id, ...(task.feature !== null && { feature: task.feature }) }
    const recorded = recordNote(note, { project, by: 'agent', ...where })
    if (recorded.did === 'refused') log.warn({ task: task.id, title, why: recorded.why }, 'a note was not stored')
    else log.info({ task: task.id, file: recorded.file, did: recorded.did }, 'a note was stored')
  }
  const more = knowledge.length - MAX_NOTES
  if (more > 0) log.warn({ task: task.id, more }, 'an attempt wrote too many notes: the rest is not stored')
}
