import { mask } from '../tests/mask.ts'
import type { Change, ChangedFile } from './change.ts'
import { isProductCode, languageOf } from './file-kind.ts'

/** Files by which what the program does may have changed: comments, blanks and tests beside the code do not count. */
export function productChanges({ files }: Change): ChangedFile[] {
  return files.filter(
    file => (isProductCode(file.path, file.after ?? file.before) || DEPENDS.test(file.path)) && isMeant(file),
  )
}

/** What the program is built with. */
const DEPENDS =
  /(^|\/)(requirements[^/]*\.txt|constraints\.txt|package-lock\.json|pnpm-lock\.yaml|yarn\.lock|Cargo\.lock|poetry\.lock|uv\.lock|go\.sum)$/

function isMeant(file: ChangedFile): boolean {
  if (file.kind !== 'text' || file.before === undefined || file.after === undefined) return true
  return codeOf(file.path, file.before) !== codeOf(file.path, file.after)
}

/** The program's own part of a file, in one spelling. */
export function codeOf(path: string, text: string): string {
  const language = languageOf(path)
  if (language === undefined) return text.replace(/\s+/g, ' ').trim()
  const own = language === 'rust' ? withoutTests(text) : text
  return mask(own, language).bare.replace(/\s+/g, ' ').trim()
}

/** In Rust tests stand at the end of the file that they test. */
function withoutTests(text: string): string {
  const begin = text.search(/^\s*#\[cfg\(test\)\]\s*(pub\s+)?mod\b/m)
  return begin < 0 ? text : text.slice(0, begin)
}
