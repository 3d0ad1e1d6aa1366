import { readFileSync } from 'node:fs'
import { AppError, messageOf } from '../../base/errors.ts'
import { standardInput } from './standard-input.ts'

export interface WantedOptions {
  /** As an argument; `-` is standard input. */
  text: string | undefined
  file: string | undefined
  /** `task create` */
  command: string
  /** Asks the person at the terminal. */
  ask(): Promise<string>
}

/** What somebody wants, in their words: an argument, a file, what comes on standard input, or what they type when they are asked. */
export async function wantedText({ text, file, command, ask }: WantedOptions): Promise<string> {
  if (text !== undefined && file !== undefined)
    throw new AppError('usage', { problem: 'say it as an argument or in a file, not both', command })
  const wanted = (await given()).trim()
  if (wanted === '') throw new AppError('usage', { problem: 'it is not said what is wanted', command })
  if (wanted.length > MOST)
    throw new AppError('usage', { problem: `it is longer than ${MOST} characters: name files instead`, command })
  return wanted

  async function given(): Promise<string> {
    if (file !== undefined && file !== '-') return read(file)
    if (text !== undefined && text !== '-') return text
    if (text === undefined && file === undefined && process.stdin.isTTY) return ask()
    return standardInput(command)
  }
}

const MOST = 100_000

function read(path: string): string {
  try {
    const found = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
    if (!found.includes('\0')) return found
  } catch (error) {
    if (!(error instanceof TypeError))
      throw new AppError('tasks_unreadable', { path, problem: messageOf(error) }, error)
  }
  throw new AppError('tasks_unreadable', { path, problem: 'it is not text in UTF-8.' })
}
