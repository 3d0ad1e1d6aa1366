import { AppError } from '../../base/errors.ts'

/** What comes on standard input; what is not text is refused before it is half understood. */
export async function standardInput(command: string): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new AppError('usage', { problem: 'what came on standard input is not text in UTF-8', command })
  }
}
