import type { HandOver } from '../../domain/agents/hand-over.ts'
import type { OpenAsk, SessionView } from '../../domain/api.ts'
import { statusOf } from '../../domain/session-status.ts'
import type { Place } from '../../domain/workspace/place.ts'
import type { Parked, SessionRow } from '../../store/tables.ts'

/** A session as the API shows it. What is parked is an open ask too: it can be answered. */
export function viewOf(row: SessionRow, bootId: string, openAsks: OpenAsk[]): SessionView {
  const { status, reason } = statusOf(row, bootId)
  return {
    id: row.id,
    name: row.name,
    project: row.project,
    task: row.task,
    task_id: row.task_id,
    ...(row.options.place && { place: placeOf(row.options.place) }),
    agent: row.agent,
    ...(row.options.host && { host: row.options.host }),
    ...(row.options.handed && { handed: restingIn(row.options.handed) }),
    model: row.model,
    status,
    queued: status === 'idle' && row.state === 'queued',
    mind: row.options.mind,
    reason,
    vendor_id: row.vendor_id,
    created_at: row.created_at,
    ended_at: row.ended_at,
    activity: row.activity,
    resumes_at: row.held_at === null ? row.resumes_at : null,
    plan: row.plan,
    tokens: {
      context: row.context_tokens,
      window: row.context_window,
      input: row.input_tokens,
      output: row.output_tokens,
    },
    // The cost comes with the end of a turn: one that was cut short leaves tokens without a price.
    cost_usd: row.cost_usd === 0 && row.output_tokens > 0 ? null : row.cost_usd,
    turns: row.turns,
    tools: { auto: row.tools_auto, human: row.tools_human, denied: row.tools_denied },
    questions: { auto: row.questions_auto, human: row.questions_human },
    asks: [...parkedAsk(row), ...openAsks],
  }
}

function restingIn({ resting }: HandOver): SessionView['handed'] {
  return resting.map(({ choice, left_at, until, why }) => ({ agent: choice.name, left_at, until, why }))
}

function placeOf({ directory, branch, target }: Place): SessionView['place'] {
  return { directory, branch, target }
}

function parkedAsk({ parked, state, ended_as }: SessionRow): OpenAsk[] {
  return parked && state === 'ended' && ended_as === 'waiting_input' ? [askOf(parked)] : []
}

/** What is parked, as it would be asked at a terminal. */
export function askOf(parked: Parked): OpenAsk {
  const { ask_id, number } = parked
  const told = { ask_id, ...(number !== undefined && { number }) }
  if ('questions' in parked) {
    const { questions, suggestion } = parked
    return { kind: 'question', ...told, questions, ...(suggestion && { suggestion }) }
  }
  const { tool, target, risk, reason, reasons = [], suggestion } = parked
  return { kind: 'permission', ...told, tool, target, risk, reason, reasons, ...(suggestion && { suggestion }) }
}
