import { stat } from 'node:fs/promises'
import { resolve, sep } from 'node:path'

/**
 * The files of a project that a settings text names in its commands: `$CLAUDE_PROJECT_DIR/scripts/guard.sh`,
 * `node tools/server.js`. Their content is part of what a person agrees to. What a command reaches only through another
 * program (`npm run x`, an `import`) is not seen.
 */
export async function scriptsNamedIn(text: string, project: string, within: string): Promise<string[]> {
  const plain = text.replaceAll(/\$\{?CLAUDE_PROJECT_DIR\}?|\$\{?PWD\}?/g, project)
  const words = new Set(plain.split(/[\s"'`\\;|&()<>=,{}[\]]+/).filter(word => /[./]/.test(word)))
  const found: string[] = []
  for (const word of words) {
    const path = resolve(project, word)
    if (!path.startsWith(within + sep)) continue
    const here = await stat(path).catch(() => undefined)
    if (here?.isFile()) found.push(path)
  }
  return found
}
