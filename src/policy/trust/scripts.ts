import { stat } from 'node:fs/promises'
import { resolve, sep } from 'node:path'

/**
 * The files of a project that a settings text names in its commands: `"$CLAUDE_PROJECT_DIR"/scripts/guard.sh`,
 * `node tools/server.js`. Their content is part of what a person agrees to. What a command reaches only through another
 * program (`npm run x`, an `import`) is not seen, and what it only writes (`>> hook.log`) is not asked about: the first
 * session would take the agreement back. A file that is written here and named otherwise there counts all the same.
 */
export async function scriptsNamedIn(text: string, project: string, within: string): Promise<string[]> {
  const fromProject = withoutOutputs(text.replaceAll(PROJECT_VARIABLE, ' ./'))
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

/** Where a redirection leads; `->`, `=>` and the read-write `<>` are none, and what is run by `>( … )` stays. */
const REDIRECTION = /(?<![-=<>])(?:>>|>\||>)\s*(?:\\?["'][^"'\\]*\\?["']|[^\s"'`\\;|&()<>]+)/g

/** Arguments of programs that make or remove files and run none, where they stand as the command and nowhere else. */
const MAKERS = /(["'`;|&(\n]\s*)(?:touch|tee|mkdir|rm)\s[^"'`\\;|&()<>$\n]*/g

function withoutOutputs(text: string): string {
  return text.replaceAll(REDIRECTION, ' ').replaceAll(MAKERS, '$1')
}
