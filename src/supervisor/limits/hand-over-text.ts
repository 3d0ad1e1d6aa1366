import { quoteBlock, quoteLine, quoteList } from '../../agents/checkpoints/restoration-prompt.ts'
import type { HandOver, HandOverCause } from '../../domain/agent-choice.ts'
import { agentName } from '../../domain/agents/agent-registry.ts'
import type { StoredEvent } from '../../domain/event.ts'
import { WRITING_TOOLS } from '../../domain/file-tools.ts'
import { workDirectory } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { git } from '../../workspace/git/git.ts'

/** How many events are searched for the other agent's work: enough for hours of work, and bounded in memory. */
const MAX_EVENTS = 2_000
const FILES = { max: 100, each: 300 }
const CALLS = { max: 60, each: 200, newest: true }
const MAX_TEXT = 4_000

/** The first words to an agent that takes a task over or gets it back: whose work is in the directory, and in which state. */
export async function handOverText(row: SessionRow, handed: HandOver, store: Store): Promise<string> {
  const events = await store.events({ subject: row.id, tail: MAX_EVENTS })
  const changed = await listUncommitted(workDirectory(row))
  const open = openWrites(events)
  const from = agentName(handed.from)
  const opening =
    handed.away_since === undefined
      ? `HAND-OVER:\n${from} worked on this task before you, in this directory, and had to stop: ${WHY[handed.why]}. It no longer runs; you go on in its place.`
      : `BACK AGAIN:\nYou had to stop, and ${from} went on with this task meanwhile, in this directory. It no longer runs; you go on where it stopped.`
  return [
    opening,
    ...(handed.away_since === undefined ? [] : describeWork(events, handed.away_since)),
    `Files that are not committed:\n${quoteList(changed, FILES)}`,
    ...(open.length > 0
      ? [
          `Calls under way when it was stopped; a file may be half-written, so look at it first:\n${quoteList(open, FILES)}`,
        ]
      : []),
  ].join('\n\n')
}

const WHY: Record<HandOverCause, string> = {
  limit: 'a usage limit of its vendor',
  login: 'its account needs a login',
  credit: 'its account needs credit',
  outage: 'its vendor does not answer',
  cost: 'it has spent what it may',
  broken: 'it could not begin',
  return: 'another agent takes over',
}

function describeWork(events: StoredEvent[], since: number): string[] {
  const later = events.filter(({ time }) => time >= since)
  const calls = later.flatMap(({ kind, body }) =>
    kind === 'tool.finished' && body.ok ? [`${body.tool}: ${body.target}`] : [],
  )
  const texts = later.flatMap(({ kind, body }) => (kind === 'agent.said' ? [body.text] : [])).slice(-5)
  return [
    `What it did:\n${quoteList(calls, CALLS, call => quoteLine(call.split('\n')[0] ?? '', CALLS.each))}`,
    `What it said last:\n${texts.length > 0 ? quoteBlock(texts.join('\n'), MAX_TEXT) : '(nothing)'}`,
  ]
}

/** Calls of writing tools that began and for which no end was recorded. */
function openWrites(events: StoredEvent[]): string[] {
  const open = new Map<string, string>()
  for (const { kind, body } of events) {
    // The agent that took over from an earlier process was told of its open calls.
    if (kind === 'agent.started') open.clear()
    if (kind === 'tool.requested' && (body.tool === 'Bash' || WRITING_TOOLS.has(body.tool)))
      open.set(body.call_id, `${body.tool}: ${body.target}`)
    if (kind === 'tool.finished') open.delete(body.call_id)
    if (kind === 'permission.decided' && body.verdict === 'deny') open.delete(body.call_id)
  }
  return [...new Set(open.values())]
}

/** Empty without git, or where git does not answer: the checkpoint lists the changed files. */
async function listUncommitted(directory: string): Promise<string[]> {
  const { ok, stdout } = await git(directory, [
    'status',
    '--porcelain=v1',
    '-z',
    '--untracked-files=all',
    '--no-renames',
  ])
  return ok ? stdout.split('\0').flatMap(line => (line === '' ? [] : [line.slice(3)])) : []
}
