import { text } from 'node:stream/consumers'
import { checkCommand } from 'cc-safety-net/api'

// Runs cc-safety-net in its own process, because it reads HOME: one command per line as JSON, one answer per line.
const cwd = process.cwd()
// Not readline, because it treats more characters than `\n` as line ends.
for (const line of (await text(process.stdin)).trimEnd().split('\n')) {
  const command = JSON.parse(line) as string
  const started = performance.now()
  const denied = denies(command)
  process.stdout.write(`${JSON.stringify({ denied, ms: performance.now() - started })}\n`)
}

/** Its README: "If checkCommand throws, do not run the command." */
function denies(command: string): boolean {
  try {
    return checkCommand({ command, cwd }).kind === 'deny'
  } catch {
    return true
  }
}
