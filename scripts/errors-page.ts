import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERRORS } from '../src/base/errors.ts'
import { ROOT } from './places.ts'

/** Builds docs/errors.md from the table of errors. `npm run docs` writes it; a test compares the two. */
export function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(([code, { exit, http, says, next }]) =>
    [`\`${code}\``, exit, http, cell(says), cell(next)].join(' | '),
  )
  return `${HEAD}\n\n| code | exit | HTTP | what happened | what to do |\n|---|---|---|---|---|\n${rows.map(row => `| ${row} |`).join('\n')}\n`
}

const HEAD = `# Errors

Every error that \`pcc\` and its daemon report has a code. It never changes, so scripts may branch on it: with \`--json\`
a command prints \`{"error":{"code","message","next"}}\`, and the daemon's routes answer with the same body and the HTTP
status below. Words in braces are filled in with the thing it happened to.

Exit codes are one family over all commands: \`0\` complete, \`1\` failure, \`2\` usage or bad input, \`3\` blocked or no plan,
\`4\` stopped by a cap or by a vendor's limit, \`5\` a store or config file newer than the program, \`130\` interrupted.

This page is made by \`npm run docs\` from \`src/base/error-rows\`; a test keeps the two in step.`

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

if (import.meta.main) writeFileSync(join(ROOT, 'docs/errors.md'), errorsPage())
