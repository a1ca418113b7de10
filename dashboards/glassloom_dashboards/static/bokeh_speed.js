// Spares the browser work that BokehJS does for what our pages don't use.
//
// People select no points. For each renderer BokehJS makes five views of glyphs, and computes all of them anew whenever its data
// change: the glyph, and those for what is selected, not selected, muted and moved. `draw` in glyphs.py says of its renderers that
// they look the same in all cases. The other four then stand for the first: they take everything from it and compute nothing.
//
// No page sets BokehJS's CSS variables (`--bk-…`), for which it asks the browser before it draws anything with a property.
//
// These methods are BokehJS's own affair: where there are others, nothing is changed, and pages take longer.
window.glassloomSpeed = (() => {
  const KINDS = ['selection_glyph', 'nonselection_glyph', 'muted_glyph'];
  const looksAlways = model =>
    model.hover_glyph === null && KINDS.every(kind => model[kind] === null);

  const nothing = () => undefined;
  const resolved = () => Promise.resolve();

  const standIn = view =>
    Object.assign(Object.create(view), {
      remove: nothing,
      set_base: nothing,
      set_data: resolved,
      set_visuals: nothing,
      after_visuals: nothing,
      after_lazy_visuals: resolved,
      map_data: nothing
    });

  const spareGlyphs = Bokeh => {
    const renderer = Bokeh.Models.get('GlyphRenderer');
    const { prototype } = renderer.prototype.default_view;
    const build = prototype.build_glyph_view;
    if (typeof build !== 'function') {
      return;
    }
    prototype.build_glyph_view = function (glyph) {
      const isOther = this.glyph && glyph !== this.model.glyph;
      return isOther && looksAlways(this.model)
        ? Promise.resolve(standIn(this.glyph))
        : build.call(this, glyph);
    };
  };

  const noVariables = Bokeh => {
    let prototype;
    try {
      ({ prototype } = Bokeh.loader['core/visuals/visual'].VisualProperties);
    } catch {
      return;
    }
    if (typeof prototype._get_css_value === 'function') {
      prototype._get_css_value = () => '';
    }
  };

  const spare = Bokeh => {
    spareGlyphs(Bokeh);
    noVariables(Bokeh);
  };

  return { spare };
})();
