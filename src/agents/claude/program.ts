import { createRequire } from 'node:module'
import { agentMissing } from '../manifests/agent-missing.ts'
import { claudeManifest } from '../manifests/claude.ts'

/** Path of the Claude Code that came with us, for what a person does with it at a terminal. */
export function bundledProgram(): string {
  const require = createRequire(import.meta.resolve('@anthropic-ai/claude-agent-sdk'))
  for (const name of packages()) {
    try {
      return require.resolve(`${name}/claude`)
    } catch {
      // the package of another C library; the next one may be there
    }
  }
  const problem = `its package for ${process.platform} on ${process.arch} is not installed`
  throw agentMissing(claudeManifest, problem)
}

/** npm may have installed the packages for both C libraries: the one this machine has comes first. */
function packages(): string[] {
  const plain = `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}`
  if (process.platform !== 'linux') return [plain]
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
  return report.header?.glibcVersionRuntime ? [plain, `${plain}-musl`] : [`${plain}-musl`, plain]
}
