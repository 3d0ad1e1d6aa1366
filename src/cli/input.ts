import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { AppError, messageOf } from '../base/errors.ts'

export interface ConfirmOptions {
  /** `Resetting the settings`: begins the sentence of the refusal. */
  action: string
  question: string
  /** `--yes` */
  yes: boolean
  input?: NodeJS.ReadableStream & { isTTY?: boolean }
  output?: NodeJS.WritableStream
}

/** Asks a person y/N. Throws when the answer is no, and when nobody is there and `--yes` was not given. */
export async function confirm({ action, question, yes, ...streams }: ConfirmOptions): Promise<void> {
  if (yes) return
  const input = streams.input ?? process.stdin
  if (!input.isTTY) throw new AppError('confirmation_needed', { action })
  const lines = createInterface({ input, output: streams.output ?? process.stderr })
  const gone = new Promise<string>(done => lines.once('close', () => done('')))
  try {
    const answer = await Promise.race([lines.question(`${question} [y/N] `), gone])
    if (!/^y(es)?$/i.test(answer.trim())) throw new AppError('not_confirmed', { action })
  } finally {
    lines.close()
  }
}

/** Who is asked for what was not given on the command line. */
export interface Prompter {
  /** Nothing of what is typed is shown. Empty where nothing was typed. */
  secret(question: string): Promise<string>
  text(question: string, example: string): Promise<string>
  choose(question: string, choices: string[]): Promise<string>
}

/** The person at this terminal. Ctrl+C and Escape give up, and nothing was changed. */
export async function openPrompter(action: string): Promise<Prompter> {
  const { autocomplete, isCancel, password, text } = await import('@clack/prompts')
  const output = process.stderr
  const answered = (said: string | symbol | undefined): string => {
    if (isCancel(said)) throw new AppError('not_confirmed', { action })
    return String(said ?? '').trim()
  }
  return {
    secret: async question => answered(await password({ message: question, output })),
    text: async (question, example) => answered(await text({ message: question, placeholder: example, output })),
    async choose(question, choices) {
      const options = choices.map(value => ({ value, label: value }))
      return answered(await autocomplete({ message: question, options, maxItems: 10, output }))
    },
  }
}

/** What comes on standard input; what is not text is refused before it is half understood. */
export async function readStandardInput(command: string): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new AppError('usage', { problem: 'what came on standard input is not text in UTF-8', command })
  }
}

export interface WantedTextOptions {
  /** As an argument; `-` is standard input. */
  text: string | undefined
  file: string | undefined
  /** `task create` */
  command: string
  /** Asks the person at the terminal. */
  ask(): Promise<string>
}

/** What somebody wants, in their words: an argument, a file, what comes on standard input, or what they type when they are asked. */
export async function wantedText({ text, file, command, ask }: WantedTextOptions): Promise<string> {
  if (text !== undefined && file !== undefined)
    throw new AppError('usage', { problem: 'say it as an argument or in a file, not both', command })
  const wanted = (await given()).trim()
  if (wanted === '') throw new AppError('usage', { problem: 'it is not said what is wanted', command })
  if (wanted.length > LONGEST_TEXT)
    throw new AppError('usage', {
      problem: `it is longer than ${LONGEST_TEXT} characters: name files instead`,
      command,
    })
  return wanted

  async function given(): Promise<string> {
    if (file !== undefined && file !== '-') return readTextFile(file)
    if (text !== undefined && text !== '-') return text
    if (text === undefined && file === undefined && process.stdin.isTTY) return ask()
    return readStandardInput(command)
  }
}

const LONGEST_TEXT = 100_000

function readTextFile(path: string): string {
  try {
    const found = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
    if (!found.includes('\0')) return found
  } catch (error) {
    if (!(error instanceof TypeError))
      throw new AppError('tasks_unreadable', { path, problem: messageOf(error) }, error)
  }
  throw new AppError('tasks_unreadable', { path, problem: 'it is not text in UTF-8.' })
}
