import { AppError } from '../../base/errors.ts'
import type { OpenAsk } from '../../domain/api.ts'
import type { AnswerEscalation, EscalationView } from '../../domain/escalation.ts'
import { questionsIn } from '../../human/memory/questions.ts'
import { type Context, ExitCode } from '../context.ts'
import { isInteractive } from '../live/interactive.ts'
import { openKeyboard } from '../live/keyboard.ts'
import { openScreen } from '../live/screen.ts'
import { terminalPerson } from '../live/terminal-person.ts'
import { asTyped } from './as-typed.ts'
import { decisionBox } from './decision-box.ts'

/** Left without an answer. */
const LEFT = 130

/** Shows a decision in a box and takes the answer by keys. Ctrl+C leaves it as it is. */
export async function answerByKeys(
  row: EscalationView,
  context: Context,
): Promise<Pick<AnswerEscalation, 'verdict' | 'answer' | 'reason'>> {
  if (!isInteractive(context)) {
    throw new AppError('usage', { problem: '--interactive needs a terminal, and no --json', command: 'respond' })
  }
  const questions = row.kind === 'question' ? (questionsIn(row.input) ?? []) : []
  if (row.kind === 'question' && questions.length === 0) {
    throw new AppError('answer_unfit', {
      number: row.number,
      problem: `it is too long for here; answer with: pcc attach ${row.session_id}`,
    })
  }
  const { terminal } = context
  const screen = openScreen(process.stdout)
  const leave = new AbortController()
  using keyboard = openKeyboard(process.stdin, { onInterrupt: () => leave.abort(), onEnd: () => leave.abort() })
  screen.print(decisionBox(row, terminal, Date.now()))
  const moment = { signal: leave.signal, echo: (line: string) => screen.print([line]) }
  const reply = await terminalPerson(keyboard, screen, terminal).answer(askOf(row, questions), moment)
  if (!reply) throw new ExitCode(LEFT)
  return asTyped(reply, questions)
}

function askOf(row: EscalationView, questions: ReturnType<typeof questionsIn> & object): OpenAsk {
  const { number, tool, target, risk, reason, reasons, context } = row
  const ask_id = String(number)
  if (row.kind === 'question') return { kind: 'question', ask_id, questions, suggestion: context.suggestion, number }
  return { kind: 'permission', ask_id, tool, target, risk, reason, reasons, number }
}
