import type { OpenAsk } from '../../domain/api.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { firstLine, INDENT, type Terminal, widthOf } from '../render/text.ts'
import { type AskReply, hasOptionKeys, type Person, permissionPrompt, questionKeys, REASON_PROMPT } from './asks.ts'
import type { Keyboard, KeyQueue, Screen } from './terminal.ts'

type Question = Extract<OpenAsk, { kind: 'question' }>

interface TerminalDialog {
  keys: KeyQueue
  signal: AbortSignal
  show(text: string): void
  echo(text: string): void
}

/** Somebody who sits at this terminal and answers by keys. */
export function terminalPerson(keyboard: Keyboard, screen: Screen, terminal: Terminal): Person {
  return {
    async answer(ask, { signal, echo }) {
      using keys = keyboard.keys()
      const indent = ' '.repeat(INDENT)
      const desk: TerminalDialog = {
        keys,
        signal,
        show: text => screen.prompt(indent + text),
        echo: text => echo(indent + text),
      }
      try {
        return await (ask.kind === 'permission'
          ? decide(permissionPrompt(ask, terminal.width - 1), desk)
          : answerAll(ask, desk))
      } finally {
        screen.prompt(undefined)
      }
    },
  }
}

async function decide(prompt: string, desk: TerminalDialog): Promise<AskReply | undefined> {
  for (;;) {
    desk.show(prompt)
    const key = await desk.keys.next(desk.signal)
    if (!key) return undefined
    const letter = key.text.toLowerCase()
    if (letter === 'y') return { verdict: 'allow' }
    if (letter === 'n') return { verdict: 'deny' }
    if (letter !== 't') continue
    const reason = await editLine(desk, REASON_PROMPT)
    if (reason) return { verdict: 'deny', reason }
  }
}

async function answerAll(ask: Question, desk: TerminalDialog): Promise<AskReply | undefined> {
  const answers: Record<string, string | string[]> = {}
  for (const [index, item] of ask.questions.entries()) {
    const place = ask.questions.length > 1 ? `(${index + 1} of ${ask.questions.length}) ` : ''
    const name = item.header ? `${firstLine(item.header)} ` : ''
    const answer = await answerOne({ item, place: place + name, suggested: suggestedFor(ask, index) }, desk)
    if (answer === undefined) return undefined
    answers[item.question] = answer
    if (place) desk.echo(`${place}${name}> ${firstLine([answer].flat().join(', '))}`)
  }
  return { answers }
}

/** What the brain would say to one part of a question; nothing where it says nothing. */
function suggestedFor({ suggestion }: Question, index: number): string | string[] | undefined {
  const answer = suggestion?.answer[index]
  return answer === undefined || answer.length === 0 ? undefined : answer
}

interface Part {
  item: QuestionItem
  /** Which one it is, where there are several. */
  place: string
  suggested: string | string[] | undefined
}

async function answerOne(
  { item, place, suggested }: Part,
  desk: TerminalDialog,
): Promise<string | string[] | undefined> {
  const keys = `${place}${questionKeys(item, suggested !== undefined)}`
  const keyed = hasOptionKeys(item)
  const chosen = new Set<number>()
  while (!desk.signal.aborted) {
    if (!keyed && suggested === undefined) {
      const typed = await typeOne(item, keys, desk)
      if (typed) return typed
      continue
    }
    const numbers = [...chosen].sort().map(index => index + 1)
    desk.show(keys + numbers.join(','))
    const key = await desk.keys.next(desk.signal)
    if (!key) return undefined
    const letter = key.text.toLowerCase()
    if (letter === 'a' && suggested !== undefined) return suggested
    if (letter === 't') {
      const typed = await typeOne(item, `${place}> `, desk)
      if (typed) return item.multiSelect && keyed ? [...labels(item, chosen), typed] : typed
    }
    if (item.multiSelect && key.name === 'return' && chosen.size > 0) return labels(item, chosen)
    const option = keyed && key.text.trim() !== '' ? item.options[Number(key.text) - 1] : undefined
    if (!option) continue
    if (!item.multiSelect) return option.label
    toggle(chosen, Number(key.text) - 1)
  }
  return undefined
}

/** Words, or where options have no keys the number of one. */
async function typeOne(item: QuestionItem, label: string, desk: TerminalDialog): Promise<string | undefined> {
  const typed = await editLine(desk, label)
  return typed && !hasOptionKeys(item) ? (item.options[Number(typed) - 1]?.label ?? typed) : typed
}

function labels(item: QuestionItem, chosen: Set<number>): string[] {
  return item.options.filter((_, index) => chosen.has(index)).map(option => option.label)
}

function toggle(chosen: Set<number>, index: number): void {
  if (!chosen.delete(index)) chosen.add(index)
}

interface LineEditor {
  keys: KeyQueue
  signal: AbortSignal
  show(text: string): void
}

/** Columns of typed text that stay in sight; the beginning of a longer text scrolls away. */
const VISIBLE = 50

/** Reads one line: Enter sends it, Escape gives up, an empty one counts as given up. */
async function editLine({ keys, signal, show }: LineEditor, label: string): Promise<string | undefined> {
  let typed = ''
  for (;;) {
    show(label + tail(typed))
    const key = await keys.next(signal)
    if (!key || key.name === 'escape') return undefined
    if (key.name === 'return' || key.name === 'enter') return typed.trim() || undefined
    if (key.name === 'backspace') typed = Array.from(typed).slice(0, -1).join('')
    else typed += key.text
  }
}

function tail(typed: string): string {
  let shown = typed
  while (widthOf(shown) > VISIBLE) shown = Array.from(shown).slice(1).join('')
  return shown === typed ? shown : `…${shown}`
}
