import type { OpenAsk, SessionView } from '../../domain/api.ts'
import { statusOf } from '../../domain/session-status.ts'
import type { SessionRow } from '../../store/tables.ts'

/** A session as the API shows it. A parked question is an open ask too: it can be answered. */
export function viewOf(row: SessionRow, bootId: string, openAsks: OpenAsk[]): SessionView {
  const { status, reason } = statusOf(row, bootId)
  return {
    id: row.id,
    name: row.name,
    project: row.project,
    task: row.task,
    agent: row.agent,
    model: row.model,
    status,
    reason,
    vendor_id: row.vendor_id,
    created_at: row.created_at,
    ended_at: row.ended_at,
    activity: row.activity,
    resumes_at: row.resumes_at,
    plan: row.plan,
    tokens: {
      context: row.context_tokens,
      window: row.context_window,
      input: row.input_tokens,
      output: row.output_tokens,
    },
    cost_usd: row.cost_usd,
    turns: row.turns,
    tools: { auto: row.tools_auto, human: row.tools_human, denied: row.tools_denied },
    questions: { auto: row.questions_auto, human: row.questions_human },
    asks: [...parkedAsk(row), ...openAsks],
  }
}

function parkedAsk(row: SessionRow): OpenAsk[] {
  if (!row.parked || row.state !== 'ended') return []
  return [{ kind: 'question', ask_id: row.parked.ask_id, questions: row.parked.questions }]
}
