import type { NewEscalation } from '../../domain/escalation.ts'
import type { Question } from '../../domain/session.ts'
import type { Run } from '../run.ts'
import { targetOf } from '../target-of.ts'

/** The name under which agents ask; other drivers translate to it. */
const TOOL = 'AskUserQuestion'

/** The row by which a person hears of a question. It does nothing by itself, so its risk is LOW. */
export function questionRow({ callId, questions }: Question, reason: string, run: Run): NewEscalation {
  const text = questions.map(({ question }) => question).join('\n')
  return {
    kind: 'question',
    session_id: run.id,
    project: run.row.project,
    task: run.row.task,
    call_id: callId,
    tool: TOOL,
    target: targetOf({ prompt: text }, run.row.project),
    input: { questions },
    risk: 'LOW',
    reason,
    reasons: [],
    normalised: `${TOOL} ${text}`,
    state: 'open',
  }
}
