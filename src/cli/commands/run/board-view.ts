import { createElement, type ReactNode, useEffect, useReducer, useSyncExternalStore } from 'react'
import { cleanText } from '../../../domain/task-requests.ts'
import type { Ink } from '../../live/terminal.ts'
import { terminalOf } from '../../render/text.ts'
import { type BoardKey, type BoardStore, boardFrame } from './board.ts'

export interface BoardViewProps {
  ink: Ink
  desk: BoardStore
  env: Record<string, string | undefined>
}

/** Below this no line says anything. */
const NARROWEST = 20
/** So that times go on while nothing happens. */
const TICK_MS = 1_000

/** Draws the board and gives it the keys; drawn again when it changes, each second, and when the terminal gets another size. */
export function BoardView({ ink, desk, env }: BoardViewProps): ReactNode {
  const board = useSyncExternalStore(desk.onChange, desk.board)
  const [, tick] = useReducer((count: number) => count + 1, 0)
  const { columns, rows } = ink.useWindowSize()
  ink.useInput((input, key) => {
    for (const pressed of pressesOf(input, key, desk.board().mode === 'guide')) desk.press(pressed)
  })
  ink.usePaste(text => {
    if (desk.board().mode === 'guide') desk.press({ name: 'text', text: cleanText(text), at: Date.now() })
  })
  useEffect(() => {
    const timer = setInterval(tick, TICK_MS)
    return () => clearInterval(timer)
  }, [])
  const terminal = { ...terminalOf({ isTTY: true, columns }, env), width: Math.max(NARROWEST, columns) }
  // One line less than there are: a full screen would scroll.
  const lines = boardFrame(board, { terminal, height: Math.max(4, rows - 1), now: Date.now() })
  return createElement(
    ink.Box,
    { flexDirection: 'column' },
    ...lines.map((line, index) => createElement(ink.Text, { key: index, wrap: 'truncate-end' }, line || ' ')),
  )
}

type InkKey = Parameters<Parameters<Ink['useInput']>[0]>[1]

/** What is typed may come many letters at once; as a command a letter counts only alone. */
function pressesOf(input: string, key: InkKey, typing: boolean): BoardKey[] {
  const press = (name: BoardKey['name'], text = ''): BoardKey => ({ name, text, at: Date.now() })
  if (key.ctrl && input === 'c') return [press('interrupt')]
  if (key.ctrl && input === 'd') return [press('end')]
  if (key.return) return [press('return')]
  if (key.escape) return [press('escape')]
  if (key.backspace || key.delete) return [press('backspace')]
  if (key.ctrl || key.meta || input === '') return []
  if (typing) return [press('text', cleanText(input))]
  return input.length === 1 ? [press('text', input)] : []
}
