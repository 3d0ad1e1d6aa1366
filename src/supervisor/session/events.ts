import { findManifest } from '../../agents/manifests/manifests.ts'
import { unreachable } from '../../base/errors.ts'
import { DEFAULT_AGENT } from '../../domain/agent-choice.ts'
import { isHigherLevel, levelAt, type QuotaLevel, type QuotaWindow, windowsIn } from '../../domain/quota.ts'
import type { Failure, SessionEvent } from '../../domain/session.ts'
import { vendorHost } from '../../domain/vendors.ts'
import { workDirectory } from '../../domain/worktree.ts'
import { sigilsForRun } from './apply-sigils.ts'
import { agentFields, eventOf, type LiveSession, type SessionDeps, type SessionUpdate } from './context.ts'
import { record } from './record.ts'
import { capInput, capText, targetOf } from './tool-call.ts'

/** Nothing to store. */
const NO_STEP: SessionUpdate = { events: [], patch: {} }

/** What an agent's event comes to. A handler looks at the event and the run, and writes nothing: `record` does. */
export function stepForEvent(event: SessionEvent, live: LiveSession): SessionUpdate {
  switch (event.kind) {
    case 'started':
      return onStarted(event, live)
    case 'text':
      return onSaid(event, live)
    case 'thinking':
      return onThought(event, live)
    case 'tool_request':
      return onToolRequest(event, live)
    case 'tool_result':
      return onToolResult(event, live)
    case 'question':
      return NO_STEP // the driver asks it through `Asks`, which stores it
    case 'plan':
      return onPlan(event, live)
    case 'usage':
      return onUsage(event, live)
    case 'limit':
      return onLimit(event, live)
    case 'retry':
      return onRetry(event, live)
    case 'compacting':
      return onCompacting(event, live)
    case 'turn_ended':
      return onTurnEnded(event, live)
    case 'ended':
      return NO_STEP // `endingOfClosed` says what it means
    default:
      return unreachable(event)
  }
}

/** The agent is up: its conversation id is what a resume needs, so it is stored at once. Every turn starts with one. */
function onStarted(event: Extract<SessionEvent, { kind: 'started' }>, live: LiveSession): SessionUpdate {
  const known = live.row.state !== 'starting' && live.row.vendor_id === event.vendorId
  const started = {
    vendor_id: event.vendorId,
    model: event.model,
    resumed: event.resumed,
    ...(event.version === undefined ? {} : { version: event.version }),
  }
  const unseen = known ? undefined : unseenVersion(event.version, live)
  return {
    events: [
      ...(known ? [] : [eventOf(live, 'agent.started', started)]),
      ...(unseen === undefined ? [] : [eventOf(live, 'session.noted', { text: unseen }, 'daemon')]),
    ],
    patch: {
      vendor_id: event.vendorId,
      model: event.model,
      ...(live.row.state === 'starting' ? { state: 'running' as const } : {}),
    },
  }
}

/** What holds an agent was seen with some versions of it; the one of Claude Code comes with pcc. */
function unseenVersion(version: string | undefined, { row }: LiveSession): string | undefined {
  const { kind, name, verified } = findManifest(row.options.chosen ?? DEFAULT_AGENT)
  if (version === undefined || kind === 'claude' || verified.length === 0 || verified.includes(version))
    return undefined
  const seen = verified.join(', ')
  return `${name} ${version}: what pcc holds it to was seen with ${seen}. Watch it the first time (pcc agents doctor).`
}

/** Words of the agent. */
function onSaid(event: Extract<SessionEvent, { kind: 'text' }>, live: LiveSession): SessionUpdate {
  return { events: [eventOf(live, 'agent.said', { text: capText(event.text), ...agentFields(event) })], patch: {} }
}

/** Thoughts of the agent. */
function onThought(event: Extract<SessionEvent, { kind: 'thinking' }>, live: LiveSession): SessionUpdate {
  return { events: [eventOf(live, 'agent.thought', { text: capText(event.text), ...agentFields(event) })], patch: {} }
}

/** The agent's list of steps changed; the active one is what the session is doing. */
function onPlan(event: Extract<SessionEvent, { kind: 'plan' }>, live: LiveSession): SessionUpdate {
  const active = event.items.find(item => item.state === 'active')?.text
  return {
    events: [eventOf(live, 'plan.changed', { items: event.items })],
    patch: { plan: event.items, ...(active === undefined ? {} : { activity: active }) },
  }
}

interface Call {
  callId: string
  tool: string
  input: Record<string, unknown>
  agentId?: string | undefined
}

/**
 * A tool is called. The agent's stream and the question whether it may both tell of a call, in either order; the first one
 * stores it.
 */
function onToolRequest(event: Call, live: LiveSession): SessionUpdate {
  if (live.calls.has(event.callId)) return { events: [], patch: {} }
  const target = targetOf(event.input, workDirectory(live.row))
  live.calls.set(event.callId, { tool: event.tool, target })
  live.callWaiters.get(event.callId)?.()
  const body = { call_id: event.callId, tool: event.tool, target, input: capInput(event.input), ...agentFields(event) }
  return {
    events: [eventOf(live, 'tool.requested', body)],
    patch: { activity: activePlanItem(live) ?? (target === '' ? event.tool : `${event.tool} ${target}`) },
  }
}

/** A tool came back, or was refused. */
function onToolResult(event: Extract<SessionEvent, { kind: 'tool_result' }>, live: LiveSession): SessionUpdate {
  const call = live.calls.get(event.callId) ?? { tool: '', target: '' }
  const body = { call_id: event.callId, ...call, ok: event.ok, output: capText(event.output), ...agentFields(event) }
  return { events: [eventOf(live, 'tool.finished', body)], patch: {} }
}

function activePlanItem(live: LiveSession): string | undefined {
  return live.row.plan.find(item => item.state === 'active')?.text
}

interface AskedCall {
  callId: string
  tool: string
  input: Record<string, unknown>
  agentId?: string | undefined
}

/**
 * The agent's stream tells of a call just before the question whether it may, but is stored a moment later. Waiting for it
 * keeps the log in the order of what happened; a call the stream does not tell of is stored from the question.
 */
export async function waitUntilCallStored(
  call: AskedCall,
  { live, deps }: { live: LiveSession; deps: SessionDeps },
): Promise<void> {
  if (live.calls.has(call.callId)) return
  const { promise, resolve } = Promise.withResolvers<void>()
  // What came before the call may stop the session, and a busy machine is late with it: then the grace has not begun yet.
  let graces = 0
  const timer = setInterval(() => {
    graces += 1
    if (!live.hearing || live.over || graces >= MOST_GRACES) resolve()
  }, STREAM_GRACE_MS)
  live.callWaiters.set(call.callId, resolve)
  await promise
  clearInterval(timer)
  live.callWaiters.delete(call.callId)
  await record(live, deps, onToolRequest(call, live))
}

/** The stream is a few milliseconds behind at most; a call that is not in it must not wait long. */
const STREAM_GRACE_MS = 100
/** A stream that stands still for so long has another trouble than a busy machine. */
const MOST_GRACES = 100

/** Tokens, cost and rounds so far. The agent counts from its opening; what earlier lives of the session spent is added. */
function onUsage(event: Extract<SessionEvent, { kind: 'usage' }>, live: LiveSession): SessionUpdate {
  const { before } = live
  const context = {
    ...(event.contextTokens === undefined ? {} : { context_tokens: event.contextTokens }),
    ...(event.contextWindow === undefined ? {} : { context_window: event.contextWindow }),
  }
  const totals = {
    input_tokens: before.input_tokens + event.inputTokens,
    output_tokens: before.output_tokens + event.outputTokens,
    cost_usd: before.cost_usd + event.costUsd,
  }
  const cache = { cache_read_tokens: event.cacheReadTokens, cache_write_tokens: event.cacheWriteTokens }
  return {
    events: [eventOf(live, 'usage.reported', { ...totals, ...cache, ...context })],
    patch: { ...totals, ...context, ...(event.turns === undefined ? {} : { turns: before.turns + event.turns }) },
  }
}

type LimitEvent = Extract<SessionEvent, { kind: 'limit' }>

/**
 * How full the vendor's windows are. Of each window it is told once that it comes to a level, not again with every answer.
 * Only a refusal stops anything, and the end of the turn tells of that.
 */
export function onLimit(event: LimitEvent, live: LiveSession): SessionUpdate {
  if (event.status === 'rejected') return { events: [], patch: {} }
  const told = windowsIn(event, 0)
  if (told.length === 0) return { events: vagueWarning(event, live), patch: {} }
  const events = told
    .filter(window => isNews(window, event, live))
    .map(({ window, utilization, resets_at }) =>
      eventOf(live, 'limit.warned', {
        window,
        utilization,
        ...(resets_at === null ? {} : { resets_at }),
        ...(event.windows === undefined ? {} : { windows: event.windows }),
      }),
    )
  return { events, patch: {} }
}

/** The vendor warns without a number, or without saying of which window. */
function vagueWarning(
  { status, window, utilization, resetsAt }: LimitEvent,
  live: LiveSession,
): SessionUpdate['events'] {
  const name = window ?? ''
  if (status !== 'warning' || live.warned.has(name)) return []
  live.warned.set(name, 'notice')
  const body = {
    ...(window === undefined ? {} : { window }),
    ...(utilization === undefined ? {} : { utilization }),
    ...(resetsAt === undefined ? {} : { resets_at: resetsAt }),
  }
  return [eventOf(live, 'limit.warned', body)]
}

/** From our own warning level on, and where the vendor itself warns. */
function isNews({ window, utilization }: QuotaWindow, event: LimitEvent, live: LiveSession): boolean {
  const ours = levelAt(utilization, live.quota.thresholds)
  const isVendors = event.status === 'warning' && event.window === window
  const level: QuotaLevel = isVendors && !isHigherLevel(ours, 'notice') ? 'notice' : ours
  const before = live.warned.get(window) ?? 'ok'
  live.warned.set(window, level)
  return isHigherLevel(level, before) && (isVendors || isHigherLevel(level, 'notice'))
}

/** The vendor failed and the agent tries again by itself. */
export function onRetry(event: Extract<SessionEvent, { kind: 'retry' }>, live: LiveSession): SessionUpdate {
  const { attempt, maxRetries, delayMs, failure } = event
  const body = { attempt, max_retries: maxRetries, delay_ms: delayMs, failure: withAddress(failure, live) }
  return { events: [eventOf(live, 'agent.retried', body)], patch: {} }
}

/** Where no answer came, a person looks at the address first. */
function withAddress(failure: Failure, { open, driver }: LiveSession): Failure {
  if (failure.kind !== 'network') return failure
  return { ...failure, message: `no answer from ${vendorHost(open.env, driver.agent)}: ${failure.message}` }
}

/** The agent shortens its own memory of the conversation. */
function onCompacting(event: Extract<SessionEvent, { kind: 'compacting' }>, live: LiveSession): SessionUpdate {
  return { events: [eventOf(live, 'agent.compacted', { state: event.state })], patch: {} }
}

/** A turn is over; what that means for the session is `endingOf`'s to say. */
function onTurnEnded(event: Extract<SessionEvent, { kind: 'turn_ended' }>, live: LiveSession): SessionUpdate {
  // Read before the text is cut: what an agent asks for stands at the end.
  const text = capText(event.text)
  const isCut = text !== event.text
  const sigils = live.row.options.run && sigilsForRun(event.text, { task: live.row.task_id, isCut })
  const body = {
    outcome: event.outcome,
    text,
    turns: event.turns,
    duration_ms: event.durationMs,
    denials: event.denials,
    ...(event.failure === undefined ? {} : { failure: event.failure }),
    ...(sigils && { sigils }),
  }
  return { events: [eventOf(live, 'turn.ended', body)], patch: { turns: live.before.turns + event.turns } }
}
