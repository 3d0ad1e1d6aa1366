import { createElement, type ReactNode, useEffect, useSyncExternalStore } from 'react'
import type { Ink } from '../../live/terminal.ts'
import { neutral, type Terminal, terminalOf } from '../../render/text.ts'
import { inboxFrame } from './frame.ts'
import type { InboxKey, InboxStore } from './keys.ts'

export interface InboxViewProps {
  ink: Ink
  desk: InboxStore
  env: Record<string, string | undefined>
}

/** Long enough that a key meant for the row before has come, short enough that nobody waits for it. */
const ARM_MS = 400

/** Draws the desk and gives it the keys; drawn again when it changes or the terminal gets another size. */
export function InboxView({ ink, desk, env }: InboxViewProps): ReactNode {
  const inbox = useSyncExternalStore(desk.onChange, desk.inbox)
  const { columns, rows } = ink.useWindowSize()
  // One line less than there are: a full screen would scroll.
  const page = () => ({ terminal: terminalFor(columns, env), height: Math.max(4, rows - 1), now: Date.now() })
  ink.useInput((input, key) => {
    const pressed = pressOf(input, key, desk.inbox().draft !== undefined)
    for (const one of pressed) desk.press(one, inboxFrame(desk.inbox(), page()).sight)
  })
  ink.usePaste(text => {
    if (desk.inbox().draft) desk.press({ name: 'text', text: oneLine(text) }, NO_SIGHT)
  })
  const { armed, current, sending } = inbox
  useEffect(() => {
    if (armed || sending || current === undefined) return undefined
    const timer = setTimeout(desk.arm, ARM_MS)
    return () => clearTimeout(timer)
  }, [armed, sending, current, desk])
  const { lines } = inboxFrame(inbox, page())
  return createElement(
    ink.Box,
    { flexDirection: 'column' },
    ...lines.map((line, index) => createElement(ink.Text, { key: index, wrap: 'truncate-end' }, line || ' ')),
  )
}

/** Below this no line says anything. */
const NARROWEST = 20

const NO_SIGHT = { ends: false, page: 1, furthest: 0 }

function terminalFor(columns: number, env: InboxViewProps['env']): Terminal {
  return { ...terminalOf({ isTTY: true, columns }, env), width: Math.max(NARROWEST, columns) }
}

type InkKey = Parameters<Parameters<Ink['useInput']>[0]>[1]

/** What is typed into a line may come many letters at once; as a command it counts only alone, so that no paste answers anything. */
function pressOf(input: string, key: InkKey, typing: boolean): InboxKey[] {
  if (key.upArrow || (!typing && input === 'k')) return [{ name: 'up', text: '' }]
  if (key.downArrow || (!typing && input === 'j')) return [{ name: 'down', text: '' }]
  if (key.pageUp) return [{ name: 'pageUp', text: '' }]
  if (key.pageDown || (!typing && input === ' ')) return [{ name: 'pageDown', text: '' }]
  if (key.return) return [{ name: 'return', text: '' }]
  if (key.escape) return [{ name: 'escape', text: '' }]
  if (key.backspace || key.delete) return [{ name: 'backspace', text: '' }]
  if (key.ctrl || key.meta || key.tab || input === '') return []
  if (!typing) return input.length === 1 ? [{ name: 'text', text: input }] : []
  const text = { name: 'text', text: oneLine(input) } as const
  return /[\r\n]$/.test(input) ? [text, { name: 'return', text: '' }] : [text]
}

function oneLine(text: string): string {
  return neutral(text.replace(/[\r\n]+$/, '')).replaceAll('\n', ' ')
}
