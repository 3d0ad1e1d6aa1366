import { stat } from 'node:fs/promises'
import { resolve, sep } from 'node:path'

/**
 * The files of a project that a settings text names in its commands: `"$CLAUDE_PROJECT_DIR"/scripts/guard.sh`,
 * `node tools/server.js`. Their content is part of what a person agrees to. What a command reaches only through another
 * program (`npm run x`, an `import`) is not seen.
 */
export async function scriptsNamedIn(text: string, project: string, within: string): Promise<string[]> {
  const fromProject = text.replaceAll(PROJECT_VARIABLE, ' ./')
  const words = fromProject.split(/[\s"'`\\;|&()<>=,{}[\]]+/)
  // A whole string too: an argument may be a file name with a space in it.
  const strings = [...fromProject.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(match => (match[1] ?? '').trim())
  const found = new Set<string>()
  for (const name of new Set([...words, ...strings])) {
    const path = resolve(project, name)
    if (!/[./]/.test(name) || !path.startsWith(within + sep)) continue
    const here = await stat(path).catch(() => undefined)
    if (here?.isFile()) found.add(path)
  }
  return [...found]
}

/** With the quotes that its documentation puts around it, also when they are escaped in JSON. */
const PROJECT_VARIABLE = /(?:\\?["'])?\$\{?(?:CLAUDE_PROJECT_DIR|PWD)\}?(?:\\?["'])?\/?/g
