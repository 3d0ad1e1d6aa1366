import { crashPoint } from '../../base/crash-point.ts'
import { messageOf } from '../../base/errors.ts'
import { isObject } from '../../base/json.ts'
import { RUN_VARIABLES } from '../../domain/run.ts'
import type { OpenSession } from '../../domain/session.ts'
import { LEFT_RUNNING } from '../agent-process.ts'
import { pinnedVariables } from './options.ts'
import type { ProcessUse } from './process-use.ts'
import type { ClaudeProcess } from './session.ts'

/** It takes about 50 ms, and longer on a busy machine. A fresh process takes seconds there, too. */
const CLEAR_MS = 10_000

/**
 * Begins a fresh conversation in a process that has served another session, and checks that nothing of that one is left. Returns why the
 * process must not be used; then it is ended, and a fresh one started.
 *
 * Claude Code takes `/clear` as a message: it forgets the conversation and its list of steps, puts the shell back to where it was, and
 * introduces itself with a new id, without a call of the model. What it does not undo is checked here: processes of the task, its files in
 * the sandbox, and settings that a new process would read anew.
 */
export async function clearConversation(
  process: ClaudeProcess,
  open: OpenSession,
  ahead?: ClearedAhead,
): Promise<string | undefined> {
  try {
    const doubt = await ahead?.why
    const isCleared = ahead !== undefined && performance.now() - ahead.begunAt < FRESH_MS
    return (
      doubt ??
      (await whyUnfit(process, open)) ??
      (isCleared ? undefined : await clear(process)) ??
      (await adapt(process, open)) ??
      (await process.agent.beginTask())
    )
  } catch (error) {
    return messageOf(error)
  }
}

/** A conversation that is cleared before its session takes it. */
export interface ClearedAhead {
  begunAt: number
  /** Why the process must not be used. */
  why: Promise<string | undefined>
}

/** A session that comes later than this had to wait: instructions may have changed, so the conversation is cleared once more. */
const FRESH_MS = 2_000

/** Begins to clear the conversation, for a session that is about to be started. */
export function clearAhead(process: ClaudeProcess): ClearedAhead {
  const { agent } = process
  const why = agent.alive && agent.alone ? clear(process).catch(messageOf) : Promise.resolve(LEFT_RUNNING)
  return { begunAt: performance.now(), why }
}

async function whyUnfit({ agent, use }: ClaudeProcess, open: OpenSession): Promise<string | undefined> {
  if (!agent.alive) return 'its process has ended'
  if (!(await becomesAlone(agent))) return LEFT_RUNNING
  if (!agent.isInRightSandbox) return 'its sandbox would be another one now'
  return use.hasSettingsOf(open) ? undefined : 'the settings have changed since it was started'
}

async function clear({ connection, agent, use }: ClaudeProcess): Promise<string | undefined> {
  const late = setTimeout(() => connection.stop(), CLEAR_MS)
  crashPoint('clear.before')
  agent.thaw()
  connection.send('/clear')
  const messages: unknown[] = []
  try {
    while (!isIdleAfterResult(messages)) {
      const message = await connection.read()
      if (!message) return 'it did not clear its conversation in time'
      messages.push(message)
    }
  } finally {
    clearTimeout(late)
  }
  crashPoint('clear.after')
  return whyNotCleared(messages, use) ?? ((await becomesAlone(agent)) ? undefined : LEFT_RUNNING)
}

/** Claude Code looks at the repository when it begins a conversation; on a busy machine its git ends some time after the clear. */
const GIT_MS = 2_000
const LOOK_MS = 20

/** Whether nothing that the agent started runs any more, at once or within a moment. Nobody tells when such a process ends. */
async function becomesAlone(agent: ClaudeProcess['agent']): Promise<boolean> {
  for (let waited = 0; !agent.alone; waited += LOOK_MS) {
    if (waited >= GIT_MS || !agent.alive) return false
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
  }
  return true
}

/** Sets what is the next session's own: its model, and the variables that count the tasks of a run. */
async function adapt({ connection, agent, use }: ClaudeProcess, open: OpenSession): Promise<string | undefined> {
  const { query } = connection
  if (!query) return 'it is not connected'
  const counting = RUN_VARIABLES.flatMap(name => (open.env[name] === undefined ? [] : [[name, open.env[name]]]))
  await query.applyFlagSettings({ env: { ...pinnedVariables(open, agent.marker), ...Object.fromEntries(counting) } })
  if (open.model !== undefined && open.model !== use.model) await query.setModel(open.model)
  return undefined
}

function isIdleAfterResult(messages: unknown[]): boolean {
  const last = messages.at(-1)
  return messages.some(message => kindOf(message) === 'result') && isIdle(last)
}

function isIdle(message: unknown): boolean {
  return kindOf(message) === 'system session_state_changed' && isObject(message) && message['state'] === 'idle'
}

/** What a process says while it clears its conversation, and nothing else. */
const EXPECTED = new Set([
  'conversation_reset',
  'result',
  ...['init', 'session_state_changed', 'background_tasks_changed'].map(subtype => `system ${subtype}`),
])

/** Why these messages, up to the end of the turn, do not show a fresh conversation. */
export function whyNotCleared(
  messages: readonly unknown[],
  use: Pick<ProcessUse, 'isAsIntroduced'>,
): string | undefined {
  const all = messages.filter(isObject)
  const unexpected = all.find(message => !EXPECTED.has(kindOf(message)))
  if (unexpected) return `it answered with ${kindOf(unexpected)} when it was to clear its conversation`
  const [reset, ...resets] = all.filter(({ type }) => type === 'conversation_reset')
  if (!reset || resets.length > 0 || reset['trigger'] !== 'clear') return 'it did not report a fresh conversation'
  const after = all.slice(all.indexOf(reset) + 1)
  const running = after.findLast(({ subtype }) => subtype === 'background_tasks_changed')?.['tasks']
  if (!Array.isArray(running) || running.length > 0) return 'a command of the task before may run in the background'
  const introduction = after.find(message => kindOf(message) === 'system init')
  if (!introduction || introduction['session_id'] === reset['session_id']) return 'its conversation has no new id'
  if (!use.isAsIntroduced(introduction)) return 'it offers other tools, skills or servers than at first'
  const result = after.find(({ type }) => type === 'result')
  const isEmpty =
    result?.['is_error'] === false &&
    result['session_id'] === introduction['session_id'] &&
    result['num_turns'] === 0 &&
    result['total_cost_usd'] === 0
  return isEmpty ? undefined : 'its fresh conversation is not empty'
}

function kindOf(message: unknown): string {
  if (!isObject(message)) return 'something unknown'
  return message['type'] === 'system' ? `system ${message['subtype']}` : String(message['type'])
}
