import type { OpenAsk } from '../../domain/api.ts'
import type { Person, Reply } from '../live/person.ts'
import { permissionPrompt, questionKeys, REASON_PROMPT } from '../live/prompts.ts'
import { INDENT, type Terminal } from '../render/paint.ts'
import { DEMO_ANSWER } from './scenario.ts'

/** Who the answers of the demo are by; it is stored and shown as such. */
const WHO = 'scripted person'
/** `() y`, behind the keys. */
const TYPED = 4
const REFUSAL = 'Leave what is outside the project alone.'

/** Plays somebody at the terminal: chooses an answer, and refuses what is asked about. Shown as what it is. */
export function scriptedPerson(terminal: Terminal): Person {
  // A whole line is printed, so the name must leave room for what is typed.
  const width = terminal.width - INDENT - WHO.length - TYPED
  return {
    async answer(ask, { echo }) {
      const type = (keys: string, typed: string) =>
        echo(`${' '.repeat(INDENT)}${keys}${terminal.paint('cyan', `(${WHO}) ${typed}`)}`)
      if (ask.kind === 'question') return chosen(ask, type)
      type(permissionPrompt(ask, width), 't')
      type(REASON_PROMPT, REFUSAL)
      return { verdict: 'deny', reason: REFUSAL, by: WHO }
    },
  }
}

function chosen(ask: Extract<OpenAsk, { kind: 'question' }>, type: (keys: string, typed: string) => void): Reply {
  const answers: Record<string, string> = {}
  for (const item of ask.questions) {
    const index = Math.max(
      0,
      item.options.findIndex(option => option.label === DEMO_ANSWER),
    )
    type(questionKeys(item), String(index + 1))
    answers[item.question] = item.options[index]?.label ?? DEMO_ANSWER
  }
  return { answers, by: WHO }
}
