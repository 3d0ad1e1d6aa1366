import { AppError } from '../../base/errors.ts'
import { nearest } from '../../base/nearest.ts'
import { KNOWN_TOOLS } from '../../policy/tools/tool-use.ts'

/**
 * A rule for a tool that is not there never counts, and a deny that never counts looks like protection. What is nearly the
 * name of a tool is refused; for any other word there is a remark, because agents get new tools.
 */
export function checkTool(tool: string): string | undefined {
  if (KNOWN_TOOLS.includes(tool) || tool.startsWith('mcp__')) return undefined
  if (tool.includes('*')) return undefined
  const meant = nearest(
    tool,
    KNOWN_TOOLS.map(name => ({ form: name.toLowerCase(), means: name })),
  )
  if (meant !== undefined)
    throw new AppError('usage', { problem: `there is no tool "${tool}"; did you mean ${meant}?`, command: 'rules add' })
  return `${tool} is no tool that pcc knows: if there is none of this name, the rule never counts.`
}
