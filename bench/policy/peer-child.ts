import { text } from 'node:stream/consumers'
import { checkCommand } from 'cc-safety-net/api'

// cc-safety-net in a process of its own, for it looks at HOME: one command a line as JSON, one answer a line.
const cwd = process.cwd()
// Not readline: it takes more characters than `\n` for an end of line.
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
