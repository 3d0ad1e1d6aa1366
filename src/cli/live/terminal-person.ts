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

/** The person at this terminal, who answers by keys. */
export function terminalPerson(keyboard: Keyboard, screen: Screen, terminal: Terminal): Person {
  return {
    async answer(ask, { signal, echo, whole }) {
      using keys = keyboard.keys()
      const indent = ' '.repeat(INDENT)
      const dialog: TerminalDialog = {
        keys,
        signal,
        show: text => screen.prompt(indent + text),
        echo: text => echo(indent + text),
      }
      try {
        return await (ask.kind === 'permission'
          ? decide(permissionPrompt(ask, terminal.width - 1, whole), dialog, whole)
          : answerAll(ask, dialog))
      } finally {
        screen.prompt(undefined)
      }
    },
  }
}

async function decide(prompt: string, dialog: TerminalDialog, whole: boolean): Promise<AskReply | undefined> {
  for (;;) {
    dialog.show(prompt)
    const key = await dialog.keys.next(dialog.signal)
    if (!key) return undefined
    const letter = key.text.toLowerCase()
    if (letter === 'y' && whole) return { verdict: 'allow' }
    if (letter === 'n') return { verdict: 'deny' }
    if (letter !== 't') continue
    const reason = await editLine(dialog, REASON_PROMPT)
    if (reason) return { verdict: 'deny', reason }
  }
}

async function answerAll(ask: Question, dialog: TerminalDialog): Promise<AskReply | undefined> {
  const answers: Record<string, string | string[]> = {}
  for (const [index, item] of ask.questions.entries()) {
    const position = ask.questions.length > 1 ? `(${index + 1} of ${ask.questions.length}) ` : ''
    const name = item.header ? `${firstLine(item.header)} ` : ''
    const answer = await answerPart({ item, position: position + name, suggested: findSuggestion(ask, index) }, dialog)
    if (answer === undefined) return undefined
    answers[item.question] = answer
    if (position) dialog.echo(`${position}${name}> ${firstLine([answer].flat().join(', '))}`)
  }
  return { answers }
}

/** The brain's suggestion for one part of a question, if there is one. */
function findSuggestion({ suggestion }: Question, index: number): string | string[] | undefined {
  const answer = suggestion?.answer[index]
  return answer === undefined || answer.length === 0 ? undefined : answer
}

interface QuestionPart {
  item: QuestionItem
  /** The number and name of the part, to be shown before its keys. */
  position: string
  suggested: string | string[] | undefined
}

async function answerPart(
  { item, position, suggested }: QuestionPart,
  dialog: TerminalDialog,
): Promise<string | string[] | undefined> {
  const keys = `${position}${questionKeys(item, suggested !== undefined)}`
  const hasKeys = hasOptionKeys(item)
  const chosen = new Set<number>()
  while (!dialog.signal.aborted) {
    if (!hasKeys && suggested === undefined) {
      const typed = await typeAnswer(item, keys, dialog)
      if (typed) return typed
      continue
    }
    const numbers = [...chosen].sort().map(index => index + 1)
    dialog.show(keys + numbers.join(','))
    const key = await dialog.keys.next(dialog.signal)
    if (!key) return undefined
    const letter = key.text.toLowerCase()
    if (letter === 'a' && suggested !== undefined) return suggested
    if (letter === 't') {
      const typed = await typeAnswer(item, `${position}> `, dialog)
      if (typed) return item.multiSelect && hasKeys ? [...labels(item, chosen), typed] : typed
    }
    if (item.multiSelect && key.name === 'return' && chosen.size > 0) return labels(item, chosen)
    const option = hasKeys && key.text.trim() !== '' ? item.options[Number(key.text) - 1] : undefined
    if (!option) continue
    if (!item.multiSelect) return option.label
    toggle(chosen, Number(key.text) - 1)
  }
  return undefined
}

/** Reads a typed answer; where options have no keys, a number selects one. */
async function typeAnswer(item: QuestionItem, label: string, dialog: TerminalDialog): Promise<string | undefined> {
  const typed = await editLine(dialog, label)
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

/** The columns of typed text that stay visible; the beginning of a longer text scrolls out of sight. */
const VISIBLE = 50

/** Reads one line: Enter sends it, Escape cancels, and an empty line counts as cancelled. */
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
