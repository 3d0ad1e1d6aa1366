import type { ChangedFile } from '../change/change.ts'
import { isTestSupport } from '../change/file-kind.ts'
import { block, type DiffFinding, type DiffRule, note } from './rule.ts'

/** Files that are no text: pictures and fonts are told, programs and archives are refused. */
export const binaryRule: DiffRule = change => change.files.flatMap(binaryFindings)

function binaryFindings(file: ChangedFile): DiffFinding[] {
  if (file.kind !== 'binary' || file.status === 'deleted') return []
  const at = { file: file.path }
  if (file.newMode === '100755')
    return [block('diff.binary', `${file.path} is a program: commit what it is made of instead.`, at)]
  if (MEDIA.test(file.path) || isTestSupport(file.path))
    return [note('diff.binary', `${file.path} is no text and nobody read it.`, at)]
  return [block('diff.binary', `${file.path} is no text: a person has to agree to it.`, at)]
}

const MEDIA = /\.(png|jpe?g|gif|webp|avif|ico|icns|bmp|tiff?|svgz|woff2?|ttf|otf|eot|mp3|ogg|wav|mp4|webm|pdf)$/i
