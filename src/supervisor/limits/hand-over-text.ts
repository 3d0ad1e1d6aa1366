import { quoteBlock, quoteLine, quoteList } from '../../agents/checkpoints/restoration-prompt.ts'
import { agentName } from '../../agents/manifests/manifests.ts'
import type { HandOver, HandOverCause } from '../../domain/agent-choice.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { workDirectory } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { git } from '../../workspace/git/git.ts'

/** How far back it is looked for what the other did: enough for hours of work, bounded in memory. */
const EVENTS = 2_000
const FILES = { max: 100, each: 300 }
const CALLS = { max: 60, each: 200, newest: true }
const WORDS = 4_000

/** What an agent is told first that takes a task over, or gets it back: whose work lies there, and in which state. */
export async function handOverText(row: SessionRow, handed: HandOver, store: Store): Promise<string> {
  const events = await store.events({ subject: row.id, tail: EVENTS })
  const left = await uncommitted(workDirectory(row))
  const half = halfWritten(events)
  const from = agentName(handed.from)
  const opening =
    handed.away_since === undefined
      ? `HAND-OVER:\n${from} worked on this task before you, in this very directory, and had to stop: ${WHY[handed.why]}. It does not run any more; you go on in its place.`
      : `BACK AGAIN:\nYou had to stop, and ${from} went on with this task meanwhile, in this very directory. It does not run any more; you go on where it stopped.`
  return [
    opening,
    ...(handed.away_since === undefined ? [] : whatItDid(events, handed.away_since)),
    `Files that are not committed:\n${quoteList(left, FILES)}`,
    ...(half.length > 0
      ? [
          `Under way when it was stopped, so that a file may be half-written (look at it first):\n${quoteList(half, FILES)}`,
        ]
      : []),
  ].join('\n\n')
}

const WHY: Record<HandOverCause, string> = {
  limit: 'a usage limit of its vendor',
  outage: 'its vendor does not answer',
  cost: 'it has spent what it may',
  broken: 'it could not begin',
  return: 'another agent was to go on',
}

function whatItDid(events: StoredEvent[], since: number): string[] {
  const later = events.filter(({ time }) => time >= since)
  const calls = later.flatMap(({ kind, body }) =>
    kind === 'tool.finished' && body.ok ? [`${body.tool}: ${body.target}`] : [],
  )
  const said = later.flatMap(({ kind, body }) => (kind === 'agent.said' ? [body.text] : [])).slice(-5)
  return [
    `What it did:\n${quoteList(calls, CALLS, call => quoteLine(call.split('\n')[0] ?? '', CALLS.each))}`,
    `What it said last:\n${said.length > 0 ? quoteBlock(said.join('\n'), WORDS) : '(nothing)'}`,
  ]
}

/** Calls that write, were begun, and of which no end was told. */
function halfWritten(events: StoredEvent[]): string[] {
  const open = new Map<string, string>()
  for (const { kind, body } of events) {
    // What an earlier process left open was seen by whoever went on after it.
    if (kind === 'agent.started') open.clear()
    if (kind === 'tool.requested' && WRITERS.has(body.tool)) open.set(body.call_id, `${body.tool}: ${body.target}`)
    if (kind === 'tool.finished') open.delete(body.call_id)
    if (kind === 'permission.decided' && body.verdict === 'deny') open.delete(body.call_id)
  }
  return [...new Set(open.values())]
}

const WRITERS = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit', 'Bash'])

/** Without git, or where git does not answer, nobody knows: the checkpoint lists what was changed. */
async function uncommitted(directory: string): Promise<string[]> {
  const { ok, stdout } = await git(directory, [
    'status',
    '--porcelain=v1',
    '-z',
    '--untracked-files=all',
    '--no-renames',
  ])
  return ok ? stdout.split('\0').flatMap(line => (line === '' ? [] : [line.slice(3)])) : []
}
