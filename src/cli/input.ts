import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { AppError, messageOf } from '../base/errors.ts'
import { ExitCode, fitted } from './context.ts'
import { editorFor, runInTerminal } from './run-in-terminal.ts'

export interface ConfirmOptions {
  /** The subject of the error message when the answer is no: `Resetting the settings`. */
  action: string
  question: string
  /** `--yes` */
  yes: boolean
  /** What a person may say in place of yes or no, in words for the question. */
  orSay?: string
  input?: NodeJS.ReadableStream & { isTTY?: boolean }
  output?: NodeJS.WritableStream
}

/**
 * Asks a person y/N. Throws when the answer is no, and when nobody is there and `--yes` was not given. With `orSay`, any other answer is
 * returned. Ctrl+C ends the command.
 */
export async function confirm({
  action,
  question,
  yes,
  orSay,
  ...streams
}: ConfirmOptions): Promise<string | undefined> {
  if (yes) return undefined
  const input = streams.input ?? process.stdin
  if (!input.isTTY) throw new AppError('confirmation_needed', { action })
  const choices = orSay === undefined ? '[y/N]' : `[y/N], or ${orSay}:`
  const answer = (await askLine(`${question} ${choices} `, { ...streams, input })) ?? ''
  if (/^y(es)?$/i.test(answer)) return undefined
  if (orSay !== undefined && !/^(no?)?$/i.test(answer)) return answer
  throw new AppError('not_confirmed', { action })
}

/** Asks a person Y/n, or y/N if nothing typed means no. An end of the input is a no, and Ctrl+C ends the command. */
export async function agrees(question: string, nothing: 'yes' | 'no' = 'yes'): Promise<boolean> {
  const answer = (await askLine(`${question} ${nothing === 'yes' ? '[Y/n]' : '[y/N]'} `, {})) ?? 'no'
  return /^(y|yes)$/i.test(answer === '' ? nothing : answer)
}

/** Asks a person for one of a few numbered choices and returns its place. Nothing means the first; anything else is asked again. */
export async function chooseOne(
  question: string,
  choices: readonly string[],
  streams: Pick<ConfirmOptions, 'input' | 'output'> = {},
): Promise<number> {
  const list = choices.map((choice, index) => `  ${index + 1}. ${choice}\n`).join('')
  let asked = `${question}\n${list}[1] `
  for (;;) {
    const answer = await askLine(asked, streams)
    const chosen = answer ? choices.findIndex((_, index) => answer === String(index + 1)) : 0
    if (chosen >= 0) return chosen
    asked = `Type a number from 1 to ${choices.length}, or nothing for 1: `
  }
}

/** The exit code of a command that Ctrl+C ended at a question. */
export const INTERRUPTED = 130

/** One line that a person types; undefined at the end of the input. Whoever presses Ctrl+C wants the command to end, not to say no. */
async function askLine(
  question: string,
  { input = process.stdin, output = process.stderr }: Pick<ConfirmOptions, 'input' | 'output'>,
): Promise<string | undefined> {
  const lines = createInterface({ input, output })
  try {
    return await new Promise((resolve, reject) => {
      lines.once('SIGINT', () => reject(new ExitCode(INTERRUPTED)))
      lines.once('close', () => resolve(undefined))
      void lines.question(`${fitted(question.trimEnd(), output)} `).then(answer => resolve(answer.trim()), reject)
    })
  } catch (error) {
    output.write('\n') // the cursor is still behind the question
    throw error
  } finally {
    lines.close()
  }
}

/** Asks for values that were not given on the command line. */
export interface Prompter {
  /** Does not show what is typed. Returns an empty string when nothing was typed. */
  secret(question: string): Promise<string>
  text(question: string, example: string): Promise<string>
  choose(question: string, choices: string[]): Promise<string>
}

/** Asks the person at this terminal. Ctrl+C and Escape cancel, and nothing is changed. */
export async function openPrompter(action: string): Promise<Prompter> {
  const { autocomplete, isCancel, password, text } = await import('@clack/prompts')
  const output = process.stderr
  const readAnswer = (answer: string | symbol | undefined): string => {
    if (isCancel(answer)) throw new AppError('not_confirmed', { action })
    return String(answer ?? '').trim()
  }
  return {
    secret: async question => readAnswer(await password({ message: question, output })),
    text: async (question, example) => readAnswer(await text({ message: question, placeholder: example, output })),
    async choose(question, choices) {
      const options = choices.map(value => ({ value, label: value }))
      return readAnswer(await autocomplete({ message: question, options, maxItems: 10, output }))
    },
  }
}

/** Reads all of standard input. Input that is not UTF-8 is rejected as a whole. */
export async function readStandardInput(command: string): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new AppError('usage', { problem: 'standard input is not UTF-8 text', command })
  }
}

export interface RequestTextOptions {
  /** The argument; `-` reads standard input. */
  text: string | undefined
  file: string | undefined
  /** `task create` */
  command: string
  /** Asks the person at the terminal. */
  ask(): Promise<string>
}

/** Reads what a person wants done: from an argument, a file, standard input, or a prompt. */
export async function readRequestText({ text, file, command, ask }: RequestTextOptions): Promise<string> {
  if (text !== undefined && file !== undefined)
    throw new AppError('usage', { problem: 'give the text as an argument or in a file, not both', command })
  const request = (await readText()).trim()
  if (request === '') throw new AppError('usage', { problem: 'the text is empty', command })
  if (request.length > LONGEST_TEXT)
    throw new AppError('usage', {
      problem: `the text is longer than ${LONGEST_TEXT} characters: name files instead`,
      command,
    })
  return request

  async function readText(): Promise<string> {
    if (file !== undefined && file !== '-') return readTextFile(file)
    if (text !== undefined && text !== '-') return text
    if (text === undefined && file === undefined && process.stdin.isTTY) return ask()
    return readStandardInput(command)
  }
}

const LONGEST_TEXT = 100_000

function readTextFile(path: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
    if (!text.includes('\0')) return text
  } catch (error) {
    if (!(error instanceof TypeError))
      throw new AppError('tasks_unreadable', { path, problem: messageOf(error) }, error)
  }
  throw new AppError('tasks_unreadable', { path, problem: 'it is not text in UTF-8.' })
}

/** Opens a file in the person's editor and waits until the editor exits. */
export async function openInEditor(file: string, env: Record<string, string | undefined>): Promise<void> {
  const { editor, ...program } = editorFor(file, env)
  const { code, signal, error } = await runInTerminal(program)
  if (code === 0) return
  throw new AppError('editor_failed', { editor, file, problem: error?.message ?? `it ended with ${code ?? signal}` })
}
