import { createElement, type ReactNode, useEffect, useSyncExternalStore } from 'react'
import { neutral } from '../../../base/neutral.ts'
import type { Ink } from '../../live/terminal.ts'
import { type Terminal, terminalOf } from '../../render/text.ts'
import { inboxFrame } from './frame.ts'
import type { InboxKey, InboxStore } from './keys.ts'

export interface InboxViewProps {
  ink: Ink
  store: InboxStore
  env: Record<string, string | undefined>
}

/** Long enough for a key that was meant for the previous row to arrive, short enough that nobody has to wait. */
const ARM_MS = 400

/** Draws the inbox and passes keys to its store; redrawn when the store changes or the terminal is resized. */
export function InboxView({ ink, store, env }: InboxViewProps): ReactNode {
  const inbox = useSyncExternalStore(store.onChange, store.inbox)
  const { columns, rows } = ink.useWindowSize()
  // One line less than the terminal has: a full screen would scroll.
  const viewport = () => ({ terminal: terminalFor(columns, env), height: Math.max(4, rows - 1), now: Date.now() })
  ink.useInput((input, key) => {
    const pressed = readKeys(input, key, store.inbox().draft !== undefined)
    for (const each of pressed) store.press(each, inboxFrame(store.inbox(), viewport()).scrollState)
  })
  ink.usePaste(text => {
    if (store.inbox().draft) store.press({ name: 'text', text: oneLine(text) }, NOTHING_SEEN)
  })
  const { armed, current, sending } = inbox
  useEffect(() => {
    if (armed || sending || current === undefined) return undefined
    const timer = setTimeout(store.arm, ARM_MS)
    return () => clearTimeout(timer)
  }, [armed, sending, current, store])
  const { lines } = inboxFrame(inbox, viewport())
  return createElement(
    ink.Box,
    { flexDirection: 'column' },
    ...lines.map((line, index) => createElement(ink.Text, { key: index, wrap: 'truncate-end' }, line || ' ')),
  )
}

/** Narrower lines would say nothing. */
const MIN_WIDTH = 20

const NOTHING_SEEN = { isAtEnd: false, page: 1, furthest: 0 }

function terminalFor(columns: number, env: InboxViewProps['env']): Terminal {
  return { ...terminalOf({ isTTY: true, columns }, env), width: Math.max(MIN_WIDTH, columns) }
}

type InkKey = Parameters<Parameters<Ink['useInput']>[0]>[1]

/** Text for a draft may arrive many letters at once. A command key is accepted only alone, so that a paste never answers anything. */
function readKeys(input: string, key: InkKey, typing: boolean): InboxKey[] {
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
