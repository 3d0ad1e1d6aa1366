import { createRequire } from 'node:module'
import { claudeAgent } from '../../domain/agents/claude.ts'
import { agentMissingError } from '../../domain/agents/find-manifest.ts'

/** Path of the Claude Code that is installed with us. */
export function bundledProgram(): string {
  const require = createRequire(createRequire(import.meta.url).resolve('@anthropic-ai/claude-agent-sdk'))
  const plain = `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}`
  const found = [plain, `${plain}-musl`].flatMap(name => {
    try {
      return [require.resolve(`${name}/claude`)]
    } catch {
      return [] // the package of another C library
    }
  })
  const [first, other] = found
  if (first === undefined) {
    const problem = `its package for ${process.platform} on ${process.arch} is not installed`
    throw agentMissingError(claudeAgent, problem)
  }
  return other === undefined || hasGlibc() ? first : other
}

/** Asked only if npm has installed the packages for both C libraries: a report takes as long as the start of Node. */
function hasGlibc(): boolean {
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
  return report.header?.glibcVersionRuntime !== undefined
}
