/** How a character is drawn. Colours are CSS colours. */
export interface Style {
  color?: string | undefined
  bold?: boolean
  dim?: boolean
  italic?: boolean
  underline?: boolean
}

/** The sixteen colours of a terminal, chosen to be readable on the dark background of the picture. */
const PALETTE = [
  '#6e7681',
  '#ff7b72',
  '#3fb950',
  '#d29922',
  '#58a6ff',
  '#bc8cff',
  '#39c5cf',
  '#c9d1d9',
  '#8b949e',
  '#ffa198',
  '#56d364',
  '#e3b341',
  '#79c0ff',
  '#d2a8ff',
  '#56d4dd',
  '#ffffff',
]

/** The style after a "select graphic rendition" sequence such as `1;31`. */
export function styled(before: Style, parameters: string): Style {
  let style = { ...before }
  const codes = parameters.split(';').map(Number)
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0
    if (code === 0) style = {}
    else if (code === 1) style.bold = true
    else if (code === 2) style.dim = true
    else if (code === 3) style.italic = true
    else if (code === 4) style.underline = true
    else if (code === 22) style = { ...style, bold: false, dim: false }
    else if (code === 23) style.italic = false
    else if (code === 24) style.underline = false
    else if (code >= 30 && code <= 37) style.color = PALETTE[code - 30]
    else if (code >= 90 && code <= 97) style.color = PALETTE[code - 90 + 8]
    else if (code === 39) style.color = undefined
    else if (code === 38 && codes[index + 1] === 2) {
      style.color = `rgb(${codes.slice(index + 2, index + 5).join(',')})`
      index += 4
    } else if (code === 38 && codes[index + 1] === 5) {
      style.color = PALETTE[codes[index + 2] ?? 7] ?? PALETTE[7]
      index += 2
    }
  }
  return style
}

export function sameStyle(a: Style, b: Style): boolean {
  return (
    a.color === b.color &&
    Boolean(a.bold) === Boolean(b.bold) &&
    Boolean(a.dim) === Boolean(b.dim) &&
    Boolean(a.italic) === Boolean(b.italic) &&
    Boolean(a.underline) === Boolean(b.underline)
  )
}
