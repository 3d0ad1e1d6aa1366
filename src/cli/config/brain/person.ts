import { AppError } from '../../../base/errors.ts'

/** Who is asked for what was not given on the command line. */
export interface Person {
  /** Nothing of what is typed is shown. Empty where nothing was typed. */
  secret(question: string): Promise<string>
  text(question: string, example: string): Promise<string>
  choose(question: string, choices: string[]): Promise<string>
}

/** The person at this terminal. Ctrl+C and Escape give up, and nothing was changed. */
export async function personAtTerminal(action: string): Promise<Person> {
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
