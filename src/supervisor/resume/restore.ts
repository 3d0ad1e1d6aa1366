import { AppError } from '../../base/errors.ts'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { Driver } from '../../domain/session.ts'
import { workDirectory } from '../../domain/workspace/work-directory.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { Parts } from '../run.ts'
import { isUnheard } from './unheard.ts'

export interface Restore {
  row: SessionRow
  driver: Driver
  env: Record<string, string>
  /** What is known of its agent. */
  manifest: Pick<AgentManifest, 'name' | 'resume'>
  /** The checkpoint to go on from; without it the newest that can be used. */
  from?: string | undefined
}

export interface Restored {
  prompt: string
  /** The task that the prompt is for; absent where the queue is empty. */
  task_id: string | undefined
  /** The vendor's conversation, where it is intact. */
  resume: { vendorId: string; fork: boolean } | undefined
  /** What the person should know about how it goes on. */
  notes: string[]
}

/**
 * How a session goes on: in the vendor's own conversation where that is intact, with the essentials of where it stood;
 * in a new one with all that was kept where it is not.
 */
export async function restore({ row, driver, env, manifest, from }: Restore, parts: Parts): Promise<Restored> {
  const [{ read }, { changedSince }, { restorationPrompt }] = await Promise.all([
    import('../../agents/checkpoints/read.ts'),
    import('../../agents/checkpoints/changed-since.ts'),
    import('../../agents/checkpoints/restoration-prompt.ts'),
  ])
  const { good, bad } = await read(parts.checkpoints, row.id, from)
  if (from !== undefined && !good) {
    const problem = bad[0] ? ` ${bad[0].id}: ${bad[0].problem}.` : ''
    throw new AppError('checkpoint_unknown', { id: row.id, checkpoint: from, problem })
  }
  const [task] = await parts.tasks.queue(row.id)
  // Who names a checkpoint wants to go on from there, and the conversation holds what came after it too.
  const isIntact = from === undefined && (await hasConversation({ row, driver, env, manifest }))
  const resume = isIntact && row.vendor_id !== null ? { vendorId: row.vendor_id, fork: false } : notBegun(row)
  const notes = [
    ...bad.map(({ id, problem }) => `The checkpoint ${id} was passed over: ${problem}.`),
    ...(row.vendor_id !== null && !isIntact && from === undefined ? [lostText(manifest)] : []),
  ]
  // A task that has not begun needs no restoring in a conversation that remembers everything else.
  const isFresh = task !== undefined && (task.state === 'ready' || (await isUnheard(task.id, row.id, parts.store)))
  const how = { resume, notes, task_id: task?.id }
  if (isFresh && (resume || !good)) return { prompt: task.description, ...how }
  const handed = await handedIn(row, parts)
  if (!good) return { prompt: `${handed}${resume ? GO_ON : (task?.description ?? row.task)}`, ...how }
  const seen = (row.options.handed && (await leftWith(row, parts))) ?? good.checkpoint
  const changed = await changedSince(seen)
  const mode = resume ? 'essentials' : 'full'
  const told = `${handed}${restorationPrompt(good.checkpoint, { changed, mode, handed: handed !== '' })}`
  const prompt = isFresh ? `${told}\n\nThe next task:\n${task.description}` : told
  return { prompt, ...how }
}

function lostText({ name, resume }: Restore['manifest']): string {
  const why =
    resume === 'none'
      ? `${name} cannot go on with a conversation`
      : "The agent's own record of the conversation is gone or damaged"
  return `${why}; a new one goes on from the checkpoint.`
}

/** Whose work it goes on with, where that was another agent's. */
async function handedIn(row: SessionRow, { store }: Parts): Promise<string> {
  // One that never came to say a word has left nothing behind.
  if (!row.options.handed?.resting.some(({ vendor_id }) => vendor_id !== null)) return ''
  const { handOverText } = await import('../failover/hand-over-text.ts')
  return `${await handOverText(row, row.options.handed, store)}\n\n`
}

/** Where the work stood when an agent that is back again had left: what changed since then it has not seen. */
async function leftWith({ id, options }: SessionRow, { checkpoints }: Parts): Promise<Checkpoint | undefined> {
  const left = options.handed?.away_since
  if (left === undefined) return undefined
  const { list } = await import('../../agents/checkpoints/read.ts')
  const known = (await list(checkpoints, id)).flatMap(one => ('checkpoint' in one ? [one.checkpoint] : []))
  return known.find(({ timestamp }) => timestamp <= left)
}

const GO_ON = 'The work was interrupted. Go on with the task where you stopped.'

/** One that never came to open its agent, and was to go on from another conversation, still is. */
function notBegun({ vendor_id, options: { resume } }: SessionRow): Restored['resume'] {
  return vendor_id === null && resume ? { vendorId: resume.vendor_id, fork: resume.fork } : undefined
}

/** Whether the agent can go on in its own conversation. */
export async function hasConversation({ row, driver, env }: Restore): Promise<boolean> {
  if (row.vendor_id === null) return false
  const state = await driver.conversationState?.(row.vendor_id, { cwd: workDirectory(row), env })
  return state === undefined || state === 'intact'
}
