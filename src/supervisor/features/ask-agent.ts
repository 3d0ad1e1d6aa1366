import type { AccountAdmission } from '../../agents/limits/account-gates.ts'
import { AppError } from '../../base/errors.ts'
import { secretId, shortId } from '../../base/ids.ts'
import type { AgentChoice } from '../../domain/agent-choice.ts'
import type { AgentManifest } from '../../domain/agent-manifest.ts'
import { agentMissingError } from '../../domain/agents/find-manifest.ts'
import type { StartSession } from '../../domain/api.ts'
import type { Assessment } from '../../domain/assessment.ts'
import type { Purpose } from '../../domain/budget.ts'
import type { Limit } from '../../domain/limit.ts'
import {
  ACCOUNT_FAULTS,
  type Asks,
  type Failure,
  type Request,
  type Session,
  type SessionEvent,
} from '../../domain/session.ts'
import { notLoggedIn } from '../../domain/vendors.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { ClassifyRequest } from '../../policy/classify/classify.ts'
import { decide } from '../../policy/verdict/decide.ts'
import type { Spender } from '../../tasks/budgets.ts'
import { refuseUngatedAgent } from '../context.ts'
import type { AskedUse } from '../guards/spending.ts'
import type { SessionPolicy } from '../session/context.ts'
import type { PreparedSession, PrepareRequest } from '../session/prepare.ts'
import type { WarmMarkers } from '../session/warm-processes.ts'

/** Which agent is asked, in which project and with which settings. */
export type AgentRequest = Pick<StartSession, 'project' | 'agent' | 'model' | 'config' | 'settings' | 'env'> & {
  /** The worktree in which the agent reads. */
  place?: Worktree | undefined
  /** The agent, where the settings do not choose it. */
  chosen?: AgentChoice | undefined
  /** Commands that the agent may run, word for word, as far as the policy lets a session run them unasked. */
  commands?: readonly string[] | undefined
  /** The task that the agent is asked for: its cost is booked there too. */
  task_id?: string | undefined
  /** What it is asked for; work if absent. */
  purpose?: Purpose | undefined
}

/** The question, and how its reply is read. A problem in the reply goes back to the agent once. */
export interface AgentQuestion<T> {
  prompt: string
  read(text: string): Promise<{ value: T } | { problem: string }>
}

export interface AskAgentDeps {
  prepare(request: PrepareRequest): Promise<PreparedSession>
  classify(question: ClassifyRequest): Promise<Assessment>
  admits(account: string): Promise<AccountAdmission>
  /** The vendor has refused the account until a time. */
  limited(account: string, limit: Limit): Promise<void>
  /** The vendor has answered: what kept the account closed is over. */
  answered(account: string): Promise<void>
  /** Throws `budget_spent` if the project or the day has nothing left. */
  refuseSpent(spender: Spender, ready: PreparedSession): Promise<void>
  spent(spender: Spender, used: AskedUse): Promise<void>
  /** Records processes, so that the next daemon finds those that this one leaves behind. */
  markers: Pick<WarmMarkers, 'note' | 'forget'>
}

export interface AgentReply<T> {
  value: T
  model: string | null
  cost_usd: number
}

/** Rounds with the model: enough to read a project, too few to get lost in it. */
const MAX_TURNS = 60
/** A person waits at a terminal for the reply. */
const DEADLINE_MS = 15 * 60_000

/**
 * Asks an agent that may only read the project, and returns its reply. No session is stored, because nothing of it is ever resumed.
 * Throws if there is no usable reply, and when the signal aborts; the process is gone then.
 */
export async function askAgent<T>(
  { task_id, purpose = 'work', commands: wanted = [], ...request }: AgentRequest,
  question: AgentQuestion<T>,
  { deps, signal }: { deps: AskAgentDeps; signal: AbortSignal },
): Promise<AgentReply<T>> {
  const ready = await deps.prepare({ ...request, task: question.prompt })
  // An agent whose calls are only observed could do anything unasked: it must not be used as a reader.
  if (ready.manifest.hold === 'observed') refuseUngatedAgent(ready)
  const admission = await deps.admits(ready.account)
  if (!admission.open) throw accountLimited(admission.why === 'limit' ? admission.until : undefined)
  const id = shortId('q')
  const spender = { id, project: request.project, task_id: task_id ?? null }
  await deps.refuseSpent(spender, ready)
  const deadline = AbortSignal.timeout(DEADLINE_MS)
  const aborted = AbortSignal.any([signal, deadline])
  const started = Date.now()
  const meter: AskedUse = { purpose, turns: 0, tokens: 0, cost_usd: 0, input_tokens: 0, output_tokens: 0 }
  aborted.throwIfAborted()
  const marker = secretId(16)
  deps.markers.note(marker)
  await using _noted = { [Symbol.asyncDispose]: async () => deps.markers.forget(marker) }
  // Other agents read with their shell, which their drivers hold to reading.
  const commands = ready.manifest.kind === 'claude' ? wanted : []
  const tools = commands.length === 0 ? READING_TOOLS : [...READING_TOOLS, 'Bash']
  await using session = await ready.driver.open({
    ...ready.open,
    ...{ id, marker, prompt: question.prompt, asks: readOnlyAsks(ready.policy, deps.classify, commands) },
    ...{ tools, readsOnly: true, ownTools: [], strictMcp: true, hooksOff: true, maxTurns: MAX_TURNS },
  })
  const closeSession = () => void session[Symbol.asyncDispose]()
  aborted.addEventListener('abort', closeSession, { once: true })
  try {
    const limited = (limit: Limit) => deps.limited(ready.account, limit)
    const value = await converse(session, question, { meter, limited, manifest: ready.manifest })
    await deps.answered(ready.account)
    return { value, model: meter.model ?? null, cost_usd: meter.cost_usd }
  } catch (error) {
    signal.throwIfAborted()
    if (deadline.aborted) throw new AppError('agent_failed', { problem: 'it took longer than 15 minutes' })
    throw error
  } finally {
    aborted.removeEventListener('abort', closeSession)
    await deps.spent(spender, { ...meter, wall_minutes: (Date.now() - started) / 60_000 })
  }
}

async function converse<T>(
  session: Session,
  { read }: AgentQuestion<T>,
  { meter, limited, manifest }: { meter: AskedUse; limited: (limit: Limit) => Promise<void>; manifest: AgentManifest },
): Promise<T> {
  const trouble = (failure: Failure) => agentTrouble(failure, manifest)
  let isRetry = false
  for await (const event of session.events) {
    updateMeter(event, meter)
    if (event.kind === 'ended') throw trouble(event.failure ?? { kind: 'other', message: 'it ended' })
    if (event.kind !== 'turn_ended') continue
    const { outcome, failure, text } = event
    const fault = failure && ACCOUNT_FAULTS[failure.kind]
    if (failure?.limit) await limited(failure.limit)
    if (fault) await limited({ source: 'result', message: `${failure.message}\n${trouble(failure).next}`, fault })
    if (failure) throw trouble(failure)
    if (outcome !== 'completed') throw trouble({ kind: 'other', message: `its turn was ${outcome}` })
    const reply = await read(text)
    if ('value' in reply) return reply.value
    if (isRetry) throw new AppError('reply_unusable', { problem: reply.problem })
    isRetry = true
    await session.prompt(retryPrompt(reply.problem))
  }
  throw trouble({ kind: 'other', message: 'it ended without a word' })
}

/** Cache reads are left out, as for sessions. */
function updateMeter(event: SessionEvent, meter: AskedUse): void {
  if (event.kind === 'started') meter.model = event.model
  if (event.kind === 'turn_ended') meter.turns = (meter.turns ?? 0) + event.turns
  if (event.kind !== 'usage') return
  meter.cost_usd = event.costUsd
  meter.input_tokens = event.inputTokens
  meter.output_tokens = event.outputTokens
  meter.tokens = event.inputTokens + event.outputTokens + event.cacheWriteTokens
}

function retryPrompt(problem: string): string {
  return `Your reply cannot be used: ${problem}\n\nSend the whole reply again, corrected: only the JSON object that was asked for.`
}

/** The tools of an agent that may only read. */
const READING_TOOLS = ['Read', 'Grep', 'Glob']

/**
 * The asks of an agent that may only read: reading tools, and the commands that are named, are allowed where the policy lets any
 * session use them unasked. Nobody can be asked, so everything else is refused, and a question is declined.
 */
export function readOnlyAsks(
  policy: SessionPolicy,
  classify: (asked: ClassifyRequest) => Promise<Assessment>,
  commands: readonly string[] = [],
): Asks {
  const isNamed = ({ tool, input }: Request) =>
    tool === 'Bash' && input['run_in_background'] !== true && commands.some(command => command === input['command'])
  const also = commands.length === 0 ? '' : `, and with Bash exactly: ${commands.join('; ')}`
  return {
    async permission(request, signal) {
      if (!READING_TOOLS.includes(request.tool) && !isNamed(request))
        return refusal(`you may only read here: Read, Grep and Glob${also}`)
      const decision = await decideOn(request, signal)
      return decision.verdict === 'allow' ? decision : refusal(`it may not be done unasked (${decision.reason})`)
    },
    question: async () => ({
      declined: 'Nobody can be asked now. Choose what is most likely wanted, and name it in your remarks.',
      by: 'nobody',
    }),
  }

  async function decideOn({ tool, input, cwd }: Request, signal: AbortSignal) {
    const { project, home, safeDirectories, worktree, blocked, threshold } = policy
    const assessment = await classify({ tool, input, cwd, project, home, worktree, safeDirectories })
    const rules = await policy.rules()
    const context = { tool, blocked, rules, threshold, autoApproveLow: true, attached: false } as const
    return decide(assessment, { ...context, unattendedHigh: 'deny' }, signal)
  }
}

function refusal(why: string) {
  return { verdict: 'deny', risk: 'MEDIUM', reason: `Refused: ${why}.`, confidence: 1, by: 'policy' } as const
}

/** The error for an agent that could not reply. */
export function agentTrouble({ kind, message, limit }: Failure, manifest: AgentManifest): AppError {
  switch (kind) {
    case 'auth':
      return notLoggedIn(manifest)
    case 'agent_missing':
      return agentMissingError(manifest, message)
    case 'limit':
      return accountLimited(limit?.resetsAt)
    default:
      return new AppError('agent_failed', { problem: message.replace(/\.$/, '') })
  }
}

/** The account may not call the model until a time, or until a person releases it. */
function accountLimited(until: number | undefined): AppError {
  return new AppError('account_limited', {
    until: until === undefined ? '' : ` until ${new Date(until).toISOString()}`,
  })
}
