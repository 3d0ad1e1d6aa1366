import { createElement, type ReactNode, useEffect, useReducer, useSyncExternalStore } from 'react'
import { cleanText } from '../../../domain/task-requests.ts'
import type { Ink } from '../../live/terminal.ts'
import { terminalOf } from '../../render/text.ts'
import { type BoardKey, type BoardStore, boardFrame } from './board.ts'

export interface BoardViewProps {
  ink: Ink
  store: BoardStore
  env: Record<string, string | undefined>
}

/** In fewer columns than this, no line is readable. */
const NARROWEST = 20
/** Redraws every second, so that the times move on while nothing happens. */
const TICK_MS = 1_000

/** Draws the board and passes it the keys. It is redrawn when it changes, every second, and when the terminal is resized. */
export function BoardView({ ink, store, env }: BoardViewProps): ReactNode {
  const board = useSyncExternalStore(store.onChange, store.board)
  const [, tick] = useReducer((count: number) => count + 1, 0)
  const { columns, rows } = ink.useWindowSize()
  ink.useInput((input, key) => {
    for (const pressed of readKeys(input, key, store.board().mode === 'guide')) store.press(pressed)
  })
  ink.usePaste(text => {
    if (store.board().mode === 'guide') store.press({ name: 'text', text: cleanText(text), at: Date.now() })
  })
  useEffect(() => {
    const timer = setInterval(tick, TICK_MS)
    return () => clearInterval(timer)
  }, [])
  const terminal = { ...terminalOf({ isTTY: true, columns }, env), width: Math.max(NARROWEST, columns) }
  // One line less than the terminal has, because a full screen would scroll.
  const lines = boardFrame(board, { terminal, height: Math.max(4, rows - 1), now: Date.now() })
  return createElement(
    ink.Box,
    { flexDirection: 'column' },
    ...lines.map((line, index) => createElement(ink.Text, { key: index, wrap: 'truncate-end' }, line || ' ')),
  )
}

type InkKey = Parameters<Parameters<Ink['useInput']>[0]>[1]

/** Typed text may arrive many letters at once; a letter counts as a command only when it comes alone. */
function readKeys(input: string, key: InkKey, isTyping: boolean): BoardKey[] {
  const press = (name: BoardKey['name'], text = ''): BoardKey => ({ name, text, at: Date.now() })
  if (key.ctrl && input === 'c') return [press('interrupt')]
  if (key.ctrl && input === 'd') return [press('end')]
  if (key.return) return [press('return')]
  if (key.escape) return [press('escape')]
  if (key.backspace || key.delete) return [press('backspace')]
  if (key.ctrl || key.meta || input === '') return []
  if (isTyping) return [press('text', cleanText(input))]
  return input.length === 1 ? [press('text', input)] : []
}
