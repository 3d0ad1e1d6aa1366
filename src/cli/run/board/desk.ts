import { messageOf } from '../../../base/errors.ts'
import type { RunDetail } from '../../../domain/runs/run-view.ts'
import { type Board, openBoard, type Press, press, type Wish } from './board.ts'

export interface DeskParts {
  leave(): void
  /** Does what was wished for and says in a line what became of it. */
  carryOut(wish: Exclude<Wish, { do: 'leave' }>): Promise<string>
}

/** The board as it is, and everything that changes it. It stands outside of what draws it, so that no key meets an old state. */
export interface Desk {
  board(): Board
  onChange(listener: () => void): () => void
  press(key: Press): void
  show(run: RunDetail): void
  /** The daemon does not answer. */
  lost(problem: string): void
}

/** A desk with the board of a run on it. */
export function openDesk(run: RunDetail, { leave, carryOut }: DeskParts): Desk {
  let board = openBoard(run)
  const listeners = new Set<() => void>()
  const set = (next: Board) => {
    if (next === board) return
    board = next
    for (const listener of listeners) listener()
  }
  const tell = (notice: string) => set({ ...board, notice })
  return {
    board: () => board,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    press(key) {
      const pressed = press(board, key)
      set(pressed.board)
      if (pressed.wish?.do === 'leave') leave()
      else if (pressed.wish) carryOut(pressed.wish).then(tell, error => tell(messageOf(error)))
    },
    show: now => set({ ...board, run: now, offline: '' }),
    lost: problem => set({ ...board, offline: `${problem}; trying again` }),
  }
}
