import * as z from 'zod'
import { messageOf } from '../base/errors.ts'
import type { AgentToolName, ToolReply } from '../domain/agent-tools.ts'
import { Answer, type Asks, type Park, type Question, type Request, Verdict } from '../domain/session.ts'

const ParkReply = z.object({ park: z.literal(true), reason: z.string() })
const PermissionReply = z.union([ParkReply, Verdict])
const QuestionReply = z.union([ParkReply, Answer])
const ToolReplySchema = z.object({ ok: z.boolean(), text: z.string() })

/** A person at a terminal may be away for a while; the caller's own asks decide sooner when to park. */
export const ASK_DEADLINE_MS = 60 * 60_000

export interface CheckedAsks {
  permission(request: Request, signal: AbortSignal): Promise<Verdict | Park>
  question(question: Question, signal: AbortSignal): Promise<Answer | Park>
  tool(name: AgentToolName, input: unknown, signal: AbortSignal): Promise<ToolReply>
}

/** Asks that always answer, and in time: whatever is thrown, late or malformed becomes a refusal. */
export function checkedAsks(asks: Asks, deadlineMs: number): CheckedAsks {
  return {
    async permission(request, signal) {
      const reply = await askWithDeadline(inner => asks.permission(request, inner), { deadlineMs, signal })
      if ('problem' in reply) return refusal(reply.problem)
      const parsed = PermissionReply.safeParse(reply.value)
      return parsed.success ? parsed.data : refusal('the answer was not understood')
    },
    async question(question, signal) {
      const reply = await askWithDeadline(inner => asks.question(question, inner), { deadlineMs, signal })
      if ('problem' in reply) return unanswered(reply.problem)
      const parsed = QuestionReply.safeParse(reply.value)
      return parsed.success ? parsed.data : unanswered('the answer was not understood')
    },
    async tool(name, input, signal) {
      if (!asks.tool) return notDone('there is no such tool here')
      const { tool } = asks
      const reply = await askWithDeadline(inner => tool(name, input, inner), { deadlineMs, signal })
      if ('problem' in reply) return notDone(reply.problem)
      return ToolReplySchema.safeParse(reply.value).data ?? notDone('the answer was not understood')
    },
  }
}

function refusal(problem: string): Verdict {
  const reason = `Not allowed: the permission could not be decided (${problem}). Go on another way, or leave it and say so.`
  return { verdict: 'deny', risk: 'HIGH', reason, confidence: 1, by: 'driver' }
}

function unanswered(problem: string): Answer {
  return { declined: `No answer came (${problem}). Decide by yourself and say what you assumed.`, by: 'driver' }
}

function notDone(problem: string): ToolReply {
  return { ok: false, text: `Not done: ${problem}. Go on without it, and say so in your report.` }
}

type AskReply = { value: unknown } | { problem: string }

/** Asks with a deadline. The signal passed to `ask` aborts when nobody waits for the answer any more. */
async function askWithDeadline(
  ask: (signal: AbortSignal) => Promise<unknown>,
  { deadlineMs, signal }: { deadlineMs: number; signal: AbortSignal },
): Promise<AskReply> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), deadlineMs)
  const either = AbortSignal.any([signal, late.signal])
  const { promise: stopped, resolve } = Promise.withResolvers<AskReply>()
  const stop = () => resolve({ problem: late.signal.aborted ? 'nobody decided in time' : 'it was called off' })
  if (either.aborted) stop()
  either.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([stopped, ask(either).then(value => ({ value }))])
  } catch (error) {
    return { problem: messageOf(error) }
  } finally {
    clearTimeout(timer)
    either.removeEventListener('abort', stop)
  }
}
